//! Users of HTTP/2 and HTTP/3: each stream that a connection may have is one of them.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use serde_json::{Value, json};
use tare_load::h2::frame::{HEADER, Header, kind};

use crate::common::h2::{answer as h2_answer, goaway, path, preface, settings};
use crate::common::site::{Log, Request, answer, ok};
use crate::common::streams::{Rules, Version, serve};
use crate::common::{bare, count, errors};

/// A run of a fixed number of requests by one user.
fn run(version: Version, url: &str, mix: &Value, changes: &Value) -> Value {
    let mut spec = json!({"protocol": version.protocol(), "warmup_s": 0, "duration_s": 60, "requests": 60,
                          "connections": 1, "sequence": {}, "mix": mix});
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    bare::run(url, &spec)
}

fn lines(log: &Log) -> Vec<String> {
    let taken = log.taken();
    taken.into_iter().map(|request| request.line).collect()
}

/// A site that gives who has no cookie one with a number of its own, and names it in the body.
fn with_numbers() -> impl Fn(&Request) -> String + Send + Sync + 'static {
    let next = AtomicU64::new(0);
    move |request| match request.header("cookie").strip_prefix("uid=") {
        Some(own) => ok("", &format!("{{\"own\": \"{own}\"}}")),
        None => {
            let own = next.fetch_add(1, SeqCst);
            let cookie = format!("Set-Cookie: uid={own}\r\n");
            ok(&cookie, &format!("{{\"own\": \"{own}\"}}"))
        }
    }
}

/// The requests of each user by its cookie, in their order.
fn by_user(taken: Vec<Request>) -> BTreeMap<String, Vec<Request>> {
    let mut users: BTreeMap<String, Vec<Request>> = BTreeMap::new();
    for request in taken {
        let own = request.header("cookie").to_string();
        users.entry(own).or_default().push(request);
    }
    users
}

const MIX: &str = r#"[{"url": "/in", "take": {"own": "json:/own"}},
    {"url": "/a/${own}", "headers": {"X-Own": "<${own}>"}},
    {"url": "/b", "method": "POST", "body": "own ${own}, $${own}"}]"#;

/// Assert that a user's requests, behind its first, follow each other with its own values.
fn assert_in_order(own: &str, requests: &[Request]) {
    let own = own.strip_prefix("uid=").expect("a cookie");
    for (number, request) in requests.iter().enumerate() {
        let wanted = match number % 3 {
            0 => format!("GET /a/{own}"),
            1 => "POST /b".into(),
            _ => "GET /in".into(),
        };
        assert_eq!(request.line, wanted, "request {number} of {own}");
        match number % 3 {
            0 => assert_eq!(request.header("x-own"), format!("<{own}>")),
            1 => {
                assert_eq!(request.body, format!("own {own}, ${{own}}"));
                let length = request.body.len().to_string();
                assert_eq!(request.header("content-length"), length);
            }
            _ => assert!(request.header("content-length").is_empty()),
        }
    }
}

#[test]
fn each_stream_is_a_user_of_its_own_in_any_loop() {
    for version in Version::ALL {
        let mix: Value = serde_json::from_str(MIX).expect("JSON");
        for (changes, users) in [
            (json!({"requests": 60}), 1),
            (
                json!({"connections": 3, "depth": 4, "threads": 2, "requests": 1200}),
                12,
            ),
            (
                json!({"connections": 2, "depth": 5, "requests": null, "duration_s": 0.5,
                       "loop": {"kind": "open", "rate": 1000}}),
                10,
            ),
            (
                json!({"connections": 3, "requests": 90, "loop": {"kind": "serial"}}),
                3,
            ),
        ] {
            let (url, log) = serve(version, Rules::default(), with_numbers());
            let changes = &mut changes.clone();
            changes["sequence"] = json!({"cookies": true});
            let result = run(version, &url, &mix, changes);
            assert_eq!(errors(&result), 0, "{result}");
            let mut taken = by_user(log.taken());
            // The first request of each has no cookie yet.
            let firsts = taken.remove("").expect("first requests");
            assert_eq!(firsts.len(), users, "{changes}");
            assert!(firsts.iter().all(|request| request.line == "GET /in"));
            assert_eq!(taken.len(), users, "{changes}");
            for (own, requests) in &taken {
                assert_in_order(own, requests);
                let connections: HashSet<_> = requests.iter().map(|each| each.connection).collect();
                assert_eq!(connections.len(), 1, "{own}");
            }
        }
    }
}

#[test]
fn a_user_outlives_its_connection_and_sends_again_what_was_refused() {
    for version in Version::ALL {
        let mix: Value = serde_json::from_str(MIX).expect("JSON");
        let rules = Rules {
            requests: Some(10),
            ..Rules::default()
        };
        for depth in [1, 6] {
            let (url, log) = serve(version, rules, with_numbers());
            let changes = json!({"depth": depth, "connections": 2, "requests": 240,
                                 "sequence": {"cookies": true}});
            let result = run(version, &url, &mix, &changes);
            assert_eq!(errors(&result), 0, "{result}");
            let mut taken = by_user(log.taken());
            let connections: HashSet<_> = taken
                .values()
                .flatten()
                .map(|each| each.connection)
                .collect();
            assert!(connections.len() > 5, "{connections:?}");
            let firsts = taken.remove("").expect("first requests");
            assert!(firsts.len() <= 2 * depth, "{} users", firsts.len());
            for (own, requests) in &taken {
                assert_in_order(own, requests);
            }
        }
    }
}

#[test]
fn a_user_sends_again_what_the_server_has_not_seen() {
    let (log, next) = (Log::default(), Arc::new(AtomicU64::new(0)));
    let seen = log.clone();
    // It answers five requests of a connection, whose GOAWAY refuses those behind them.
    let address = bare::tcp("127.0.0.1", move |mut stream| {
        preface(&mut stream)?;
        stream.write_all(&settings(&[]))?;
        loop {
            let mut head = [0; HEADER];
            stream.read_exact(&mut head)?;
            let header = Header::read(&head);
            let mut block = vec![0; header.length];
            stream.read_exact(&mut block)?;
            if header.kind != kind::HEADERS || header.stream > 9 {
                continue;
            }
            let line = path(&block);
            let body = match line.as_str() {
                "/in" => next.fetch_add(1, SeqCst).to_string(),
                _ => String::new(),
            };
            seen.note(Request {
                line,
                ..Request::default()
            });
            stream.write_all(&h2_answer(header.stream, body.as_bytes()))?;
            if header.stream == 9 {
                stream.write_all(&goaway(9, 0))?;
            }
        }
    });
    assert_all_is_answered_once(Version::H2, &format!("http://{address}"), &log);
}

#[test]
fn a_user_of_http3_sends_again_what_the_server_has_not_seen() {
    let next = AtomicU64::new(0);
    let rules = Rules {
        requests: Some(5),
        ..Rules::default()
    };
    let (url, log) = serve(Version::H3, rules, move |request| {
        match request.line.as_str() {
            "GET /in" => ok("", &next.fetch_add(1, SeqCst).to_string()),
            _ => ok("", ""),
        }
    });
    assert_all_is_answered_once(Version::H3, &url, &log);
}

/// Assert that users of a server which refuses requests send each of them once more, until the `log`
/// has it.
fn assert_all_is_answered_once(version: Version, url: &str, log: &Log) {
    let mix = json!([{"url": "/in", "take": {"own": "json:"}},
                     {"url": "/a/${own}"}, {"url": "/b/${own}"}]);
    let changes = json!({"depth": 8, "connections": 2, "requests": 300});
    let result = run(version, url, &mix, &changes);
    assert_eq!(errors(&result), 0, "{result}");
    let lines = lines(log);
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.trim_start_matches("GET "))
        .collect();
    assert_eq!(lines.len(), 300);
    let place = |line: String| lines.iter().position(|other| *other == line);
    let mut whole = 0;
    for own in 0..count_of(&lines, "/in") {
        let (first, second) = (place(format!("/a/{own}")), place(format!("/b/{own}")));
        // The run may end between them.
        assert!(first.is_some() || second.is_none(), "{own}: {lines:?}");
        assert!(second.is_none_or(|second| first < Some(second)), "{own}");
        whole += usize::from(second.is_some());
    }
    assert!(whole >= 100 - 16, "{whole}");
    assert_eq!(
        lines.iter().collect::<HashSet<_>>().len(),
        lines.len() + 1 - count_of(&lines, "/in")
    );
}

fn count_of(lines: &[&str], wanted: &str) -> usize {
    lines.iter().filter(|line| **line == wanted).count()
}

#[test]
fn values_of_all_places_are_taken_and_a_location_is_followed() {
    for version in Version::ALL {
        let (url, log) = serve(version, Rules::default(), |request| {
            match request.line.as_str() {
                "GET /" => answer(
                    "302 Found",
                    "Location: https://elsewhere/there?id=1#top\r\n\
                 X-Id: 7\r\nSet-Cookie: sid=s; Path=/\r\n",
                    "",
                ),
                _ => ok("", ""),
            }
        });
        let mix = json!([
            {"url": "/", "expect": {"status": [302]},
             "take": {"next": "location", "id": "header:X-ID", "sid": "cookie:sid",
                      "status": "status"}},
            {"url": "${next}", "headers": {"Host": "h${id}", "X-S": "${status}"}},
            {"url": "/{key}/${sid}", "method": "PUT", "body": {"base64": "JHtpZH0="}},
        ]);
        let changes = json!({"requests": 6, "keys": {"count": 1}, "sequence": {"cookies": true}});
        let result = run(version, &url, &mix, &changes);
        assert_eq!(errors(&result), 0, "{result}");
        let taken = log.taken();
        let sent: Vec<_> = taken.iter().map(|request| request.line.as_str()).collect();
        assert_eq!(sent, ["GET /", "GET /there?id=1", "PUT /0/s"].repeat(2));
        assert_eq!(
            (taken[1].header("host"), taken[1].header("x-s")),
            ("h7", "302")
        );
        assert_eq!(taken[2].body, "${id}");
        assert!(
            taken[1..]
                .iter()
                .all(|request| request.header("cookie") == "sid=s")
        );
    }
}

#[test]
fn an_answer_without_a_value_fails_and_the_user_begins_anew() {
    for version in Version::ALL {
        let answers = AtomicU64::new(0);
        let (url, log) = serve(version, Rules::default(), move |request| {
            let number = answers.fetch_add(1, SeqCst);
            match (request.line.as_str(), number) {
                ("GET /in", _) => ok("Set-Cookie: a=b\r\n", "5"),
                // No value, then a reset stream, then a wrong status.
                ("GET /get", 1) => ok("", r#"{"id": null}"#),
                ("GET /get", 3) => String::new(),
                ("GET /get", 5) => answer("500 No", "", r#"{"id": 1}"#),
                ("GET /get", _) => ok("", r#"{"id": "x"}"#),
                // What takes nothing may fail, and the user goes on.
                ("GET /lost", _) => String::new(),
                _ => ok("", ""),
            }
        });
        let mix = json!([{"url": "/in", "take": {"n": "json:"}},
                         {"url": "/get", "take": {"id": "json:/id"}},
                         {"url": "/lost"}, {"url": "/use/${id}/${n}"}]);
        let changes = json!({"requests": 10, "sequence": {"cookies": true}});
        let result = run(version, &url, &mix, &changes);
        let of = |kind: &str| count(&result, &format!("errors.{kind}"));
        assert_eq!(
            (of("value"), of("status"), of("read")),
            (1, 1, 2),
            "{result}"
        );
        assert_eq!(errors(&result), 4, "{result}");
        let taken = log.taken();
        let sent: Vec<_> = taken.iter().map(|request| request.line.as_str()).collect();
        let rounds = ["GET /in", "GET /get"].repeat(4);
        assert_eq!(sent, [&rounds[..], &["GET /lost", "GET /use/x/5"]].concat());
        assert!(
            taken
                .iter()
                .all(|each| each.header("cookie").is_empty() == (each.line == "GET /in"))
        );
    }
}

#[test]
fn a_body_with_values_waits_for_its_window() {
    for version in Version::ALL {
        let rules = Rules {
            window: Some(1_000),
            ..Rules::default()
        };
        let (url, log) = serve(version, rules, |request| match request.line.as_str() {
            "GET /in" => ok("", &format!("\"{}\"", "v".repeat(5_000))),
            _ => ok("", ""),
        });
        let mix = json!([{"url": "/in", "take": {"v": "json:"}},
                         {"url": "/put", "method": "PUT", "body": "<${v}${v}>"}]);
        let result = run(version, &url, &mix, &json!({"depth": 3, "requests": 60}));
        assert_eq!(errors(&result), 0, "{result}");
        let body = format!("<{}>", "v".repeat(10_000));
        let puts: Vec<Request> = log
            .taken()
            .into_iter()
            .filter(|each| each.line == "PUT /put")
            .collect();
        assert!(
            puts.len() >= 28 && puts.iter().all(|each| each.body == body),
            "{}",
            puts.len()
        );
    }
}

#[test]
fn a_hostile_value_is_not_sent() {
    for version in Version::ALL {
        for (value, used) in [
            ("x HTTP/1.0", json!({"url": "/${v}"})),
            ("http://evil/", json!({"url": "${v}"})),
            (
                r"x\r\nX-Evil: 1",
                json!({"url": "/", "headers": {"X-A": "${v}"}}),
            ),
            (
                r"\u0000",
                json!({"url": "/", "method": "POST", "body": "${v}"}),
            ),
        ] {
            let body = format!("{{\"v\": \"{value}\"}}");
            let (url, log) = serve(version, Rules::default(), move |_| ok("", &body));
            let mix = json!([{"url": "/take", "take": {"v": "json:/v"}}, used]);
            let result = run(version, &url, &mix, &json!({"requests": 5}));
            assert_eq!(count(&result, "errors.value"), 5, "{value}: {result}");
            assert_eq!(lines(&log), ["GET /take"; 5], "{value}");
        }
    }
}

#[test]
fn a_late_answer_costs_its_values() {
    for version in Version::ALL {
        let answers = AtomicU64::new(0);
        let (url, log) = serve(version, Rules::default(), move |request| {
            let number = answers.fetch_add(1, SeqCst);
            if request.line == "GET /in" && number == 0 {
                std::thread::sleep(std::time::Duration::from_millis(400));
            }
            ok("", "3")
        });
        let mix = json!([{"url": "/in", "take": {"id": "json:"}}, {"url": "/${id}"}]);
        let result = run(
            version,
            &url,
            &mix,
            &json!({"requests": 3, "timeout_s": 0.2}),
        );
        let late = count(&result, "errors.timeout");
        assert!(late >= 1 && errors(&result) == late, "{result}");
        let sent = lines(&log);
        assert!(
            sent.starts_with(&["GET /in".into(), "GET /in".into()]),
            "{sent:?}"
        );
    }
}
