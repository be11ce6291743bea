//! Users that send requests in their order, and take values from answers.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use serde_json::{Value, json};
use tare_load::spec::Spec;

use crate::common::program::File;
use crate::common::site::{Log, Request, answer, ok, serve};
use crate::common::{Silent, bare, count, errors};

/// A run of a fixed number of requests by one user.
fn run(url: &str, mix: &Value, changes: &Value) -> Value {
    let mut spec = json!({"warmup_s": 0, "duration_s": 60, "requests": 60, "connections": 1,
                          "sequence": {}, "mix": mix});
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    bare::run(url, &spec)
}

fn lines(log: &Log) -> Vec<String> {
    let taken = log.taken();
    taken.into_iter().map(|request| request.line).collect()
}

/// A server that gives each login a token of its own, and answers 403 to a request whose token is not
/// the one that its connection's user was given last.
fn with_tokens() -> (String, Log) {
    let next = AtomicU64::new(0);
    let last = std::sync::Mutex::new(HashSet::new());
    serve(move |request| {
        if request.line == "POST /login" {
            let token = format!("t{}", next.fetch_add(1, SeqCst));
            last.lock().expect("no panic").insert(token.clone());
            return ok(
                "",
                &format!(r#"{{"data": {{"token": "{token}", "id": 17}}}}"#),
            );
        }
        let token = request.header("authorization").strip_prefix("Bearer ");
        let known = token.is_some_and(|token| last.lock().expect("no panic").contains(token));
        answer(if known { "200 OK" } else { "403 No" }, "", "")
    })
}

fn login() -> Value {
    json!([
        {"url": "/login", "method": "POST", "body": "{}",
         "take": {"token": "json:/data/token", "id": "json:/data/id", "status": "status"}},
        {"url": "/item/${id}?s=${status}", "headers": {"Authorization": "Bearer ${token}"}},
        {"url": "/cart", "method": "PUT", "headers": {"Authorization": "Bearer ${token}"},
         "body": "{\"id\": ${id}, \"by\": \"${token}\", \"price\": \"$${id}\"}"},
    ])
}

#[test]
fn a_token_of_one_answer_is_in_later_requests() {
    let (url, log) = with_tokens();
    let result = run(&url, &login(), &json!({}));
    assert_eq!(errors(&result), 0, "{result}");
    let taken = log.taken();
    assert_eq!(taken.len(), 60);
    for (round, three) in taken.chunks(3).enumerate() {
        let lines: Vec<_> = three.iter().map(|request| request.line.as_str()).collect();
        assert_eq!(lines, ["POST /login", "GET /item/17?s=200", "PUT /cart"]);
        let bearer = format!("Bearer t{round}");
        assert_eq!(three[1].header("authorization"), bearer);
        let body = format!("{{\"id\": 17, \"by\": \"t{round}\", \"price\": \"${{id}}\"}}");
        assert_eq!(three[2].body, body);
        assert_eq!(three[2].header("content-length"), body.len().to_string());
    }
}

#[test]
fn each_connection_is_a_user_of_its_own_in_any_loop() {
    for changes in [
        json!({"connections": 7, "threads": 2, "requests": 600}),
        json!({"connections": 5, "threads": 2, "requests": null, "duration_s": 0.5, "warmup_s": 0.2,
               "loop": {"kind": "open", "rate": 2000}}),
        json!({"connections": 3, "requests": 90, "loop": {"kind": "serial"}}),
    ] {
        let (url, log) = with_tokens();
        let result = run(&url, &login(), &changes);
        assert_eq!(errors(&result), 0, "{result}");
        let taken = log.taken();
        assert!(taken.len() >= 90, "{}", taken.len());
        let connections: HashSet<_> = taken.iter().map(|request| request.connection).collect();
        for connection in connections {
            let own = taken
                .iter()
                .filter(|request| request.connection == connection);
            let own: Vec<&Request> = own.collect();
            for three in own.chunks_exact(3) {
                assert_eq!(three[0].line, "POST /login");
                let (item, cart) = (
                    three[1].header("authorization"),
                    three[2].header("authorization"),
                );
                assert!(item == cart && three[2].line == "PUT /cart", "{three:?}");
            }
        }
    }
}

#[test]
fn cookies_are_kept_sent_changed_and_deleted() {
    let site = |request: &Request| match request.line.as_str() {
        "GET /in" => ok(
            "Set-Cookie: sid=a; Path=/; HttpOnly\r\nSet-Cookie: theme=dark\r\n",
            "",
        ),
        "GET /change" => ok("set-cookie: sid=b\r\n", ""),
        "GET /out" => ok(
            "Set-Cookie: sid=; Max-Age=0\r\nSet-Cookie: theme=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT\r\n",
            "",
        ),
        _ => ok("", ""),
    };
    let mix = json!([{"url": "/in", "take": {"sid": "cookie:sid"}}, {"url": "/page/${sid}"},
                     {"url": "/change"}, {"url": "/out"}, {"url": "/end"}]);
    for (cookies, wanted) in [
        (
            true,
            [
                "",
                "sid=a; theme=dark",
                "sid=a; theme=dark",
                "sid=b; theme=dark",
                "",
            ],
        ),
        (false, [""; 5]),
    ] {
        let (url, log) = serve(site);
        let result = run(
            &url,
            &mix,
            &json!({"sequence": {"cookies": cookies}, "requests": 20}),
        );
        assert_eq!(errors(&result), 0, "{result}");
        for round in log.taken().chunks(5) {
            let sent: Vec<_> = round
                .iter()
                .map(|request| request.header("cookie"))
                .collect();
            assert_eq!(sent, wanted);
            assert_eq!(round[1].line, "GET /page/a");
        }
    }
}

#[test]
fn a_location_is_followed_whatever_its_host() {
    let (url, log) = serve(|request| match request.line.as_str() {
        "GET /" => answer(
            "302 Found",
            "Location: http://elsewhere:9/there?id=1#top\r\n",
            "",
        ),
        _ => ok("", ""),
    });
    let mix = json!([{"url": "/", "expect": {"status": [302]}, "take": {"next": "location"}}, {"url": "${next}"}]);
    let result = run(&url, &mix, &json!({"requests": 4}));
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!(lines(&log), ["GET /", "GET /there?id=1"].repeat(2));
}

#[test]
fn an_answer_without_a_value_fails_and_the_user_begins_anew() {
    let answers = AtomicU64::new(0);
    let (url, log) = serve(move |request| {
        let number = answers.fetch_add(1, SeqCst);
        match (request.line.as_str(), number) {
            ("GET /in", _) => ok("Set-Cookie: a=b\r\nX-Id: 5\r\n", ""),
            // The first time there is no value, then it is no JSON, then the status is wrong.
            ("GET /get", 1) => ok("", r#"{"id": null}"#),
            ("GET /get", 3) => ok("", "<html>"),
            ("GET /get", 5) => answer("500 No", "", r#"{"id": 1}"#),
            ("GET /get", _) => ok("", r#"{"id": "x"}"#),
            _ => ok("", ""),
        }
    });
    let mix = json!([{"url": "/in", "take": {"head": "header:X-ID"}}, {"url": "/get", "take": {"id": "json:/id"}},
                     {"url": "/use/${id}/${head}"}]);
    let result = run(
        &url,
        &mix,
        &json!({"requests": 9, "sequence": {"cookies": true}}),
    );
    assert_eq!(
        (
            count(&result, "errors.value"),
            count(&result, "errors.status")
        ),
        (2, 1),
        "{result}"
    );
    assert_eq!(errors(&result), 3, "{result}");
    let reasons = result["total"]["reasons"].as_array().expect("a list");
    let reason = json!({"kind": "value", "why": "no value for ${id} at json:/id", "count": 2});
    assert!(reasons.contains(&reason), "{result}");
    let taken = log.taken();
    let sent: Vec<_> = taken.iter().map(|request| request.line.as_str()).collect();
    let wanted = [["GET /in", "GET /get"].repeat(4), vec!["GET /use/x/5"]].concat();
    assert_eq!(sent, wanted);
    // The cookies went with the values.
    assert!(
        taken[..8]
            .iter()
            .step_by(2)
            .all(|request| request.header("cookie").is_empty())
    );
    assert_eq!(taken[8].header("cookie"), "a=b");
}

#[test]
fn a_failure_that_costs_no_value_leaves_the_user_where_it_is() {
    let (url, log) = serve(|request| match request.line.as_str() {
        "GET /a" => ok("", "7"),
        "GET /b" => answer("500 No", "", ""),
        _ => ok("", ""),
    });
    let mix = json!([{"url": "/a", "take": {"id": "json:"}}, {"url": "/b"}, {"url": "/c/${id}"}]);
    let result = run(&url, &mix, &json!({"requests": 6}));
    assert_eq!(
        (errors(&result), count(&result, "errors.status")),
        (2, 2),
        "{result}"
    );
    assert_eq!(lines(&log), ["GET /a", "GET /b", "GET /c/7"].repeat(2));
}

#[test]
fn a_hostile_value_is_not_sent() {
    for (value, used) in [
        (
            r"x\r\nX-Evil: 1",
            json!({"url": "/", "headers": {"X-A": "${v}"}}),
        ),
        (r"x\nX-Evil: 1", json!({"url": "/${v}"})),
        (r"x HTTP/1.1\r\nX-Evil: 1\r\n\r\n", json!({"url": "/${v}"})),
        ("x HTTP/1.0", json!({"url": "/${v}"})),
        ("http://evil/", json!({"url": "${v}"})),
        (
            r"\u0000",
            json!({"url": "/", "method": "POST", "body": "${v}"}),
        ),
        (r"\u007f", json!({"url": "/", "headers": {"X-A": "a${v}"}})),
        (r"\r", json!({"url": "/", "headers": {"X-A": "${v}"}})),
    ] {
        let body = format!("{{\"v\": \"{value}\"}}");
        let (url, log) = serve(move |_| ok("", &body));
        let mix = json!([{"url": "/take", "take": {"v": "json:/v"}}, used]);
        let result = run(&url, &mix, &json!({"requests": 5}));
        assert_eq!(count(&result, "errors.value"), 5, "{value}: {result}");
        assert_eq!(lines(&log), ["GET /take"; 5], "{value}");
    }
}

#[test]
fn a_user_outlives_its_connections() {
    let logins = AtomicU64::new(0);
    let (url, log) = serve(move |request| match request.line.as_str() {
        "GET /in" => {
            let id = logins.fetch_add(1, SeqCst);
            ok("Set-Cookie: s=1\r\nConnection: close\r\n", &id.to_string())
        }
        _ => ok("Connection: close\r\n", ""),
    });
    let mix =
        json!([{"url": "/in", "take": {"id": "json:"}}, {"url": "/a/${id}"}, {"url": "/b/${id}"}]);
    let result = run(
        &url,
        &mix,
        &json!({"requests": 9, "sequence": {"cookies": true}}),
    );
    assert_eq!(errors(&result), 0, "{result}");
    let taken = log.taken();
    let sent: Vec<_> = taken.iter().map(|request| request.line.clone()).collect();
    let rounds = (0..3).flat_map(|id| {
        [
            "GET /in".into(),
            format!("GET /a/{id}"),
            format!("GET /b/{id}"),
        ]
    });
    assert_eq!(sent, rounds.collect::<Vec<_>>());
    let connections: HashSet<_> = taken.iter().map(|request| request.connection).collect();
    assert_eq!(connections.len(), 9);
    assert!(
        taken[1..]
            .iter()
            .all(|request| request.header("cookie") == "s=1")
    );
}

#[test]
fn a_request_that_is_lost_costs_its_values_and_no_others() {
    let seen = AtomicU64::new(0);
    let (url, log) =
        serve(
            move |request| match (request.line.as_str(), seen.fetch_add(1, SeqCst)) {
                // The connection ends without an answer: first to a request that takes, then to one that does not.
                ("GET /in", 1) | ("GET /b/7", 4) => String::new(),
                ("GET /in", _) => ok("", "7"),
                _ => ok("", ""),
            },
        );
    let mix = json!([{"url": "/first"}, {"url": "/in", "take": {"id": "json:"}}, {"url": "/b/${id}"},
                     {"url": "/c/${id}"}]);
    let result = run(&url, &mix, &json!({"requests": 6}));
    assert_eq!(
        (errors(&result), count(&result, "errors.read")),
        (2, 2),
        "{result}"
    );
    let wanted = [
        "GET /first",
        "GET /in",
        "GET /first",
        "GET /in",
        "GET /b/7",
        "GET /c/7",
    ];
    assert_eq!(lines(&log), wanted);
}

#[test]
fn values_are_taken_from_bodies_in_any_framing() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n6\r\n: 17 }\r\n0\r\n\r\n";
    let closed = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"id\": 17}";
    for answer in [chunked, closed] {
        let (url, log) = serve(move |request| match request.line.as_str() {
            "GET /in" => answer.into(),
            _ => ok("", ""),
        });
        let mix = json!([{"url": "/in", "take": {"id": "json:/id"}}, {"url": "/${id}"}]);
        let result = run(&url, &mix, &json!({"requests": 4}));
        assert_eq!(errors(&result), 0, "{result}");
        assert_eq!(lines(&log), ["GET /in", "GET /17"].repeat(2));
    }
}

#[test]
fn texts_and_files_have_values_and_given_bytes_have_none() {
    let file = File::new("body");
    std::fs::write(&file.0, "<${id}>").expect("a folder for temporary files");
    let (url, log) = serve(|_| ok("X-Id: 5\r\n", ""));
    let mix = json!([
        {"url": "/", "take": {"id": "header:x-id"}},
        {"url": "/", "method": "POST", "body": {"file": file.name()}},
        // The digits of "${id}".
        {"url": "/", "method": "POST", "body": {"base64": "JHtpZH0="}},
        {"url": "/", "method": "POST"},
    ]);
    let common = json!({"body": "all ${id}", "requests": 4});
    let error = Spec::from_json(
        &json!({"url": url, "sequence": {}, "mix": mix, "body": "${id}"}).to_string(),
    );
    let error = error.map(|spec| tare_load::run::run(&spec, &mut Silent, &AtomicBool::new(false)));
    assert!(
        matches!(error, Ok(Err(_))),
        "the first request has no value for the common body"
    );
    let mut mix = mix;
    mix[0]["body"] = json!("");
    let result = run(&url, &mix, &common);
    assert_eq!(errors(&result), 0, "{result}");
    let bodies: Vec<String> = log
        .taken()
        .into_iter()
        .map(|request| request.body)
        .collect();
    assert_eq!(bodies, ["", "<5>", "${id}", "all 5"]);
}

#[test]
fn a_user_keeps_its_place_when_the_generator_closes_or_shows() {
    let (url, log) = serve(|request| match request.line.as_str() {
        "GET /in" => ok("", "3"),
        _ => ok("", ""),
    });
    let mix = json!([{"url": "/in", "take": {"id": "json:"}}, {"url": "/${id}"}, {"url": "/{key}/${id}"}]);
    let changes =
        json!({"requests": 6, "requests_per_connection": 1, "show": 2, "keys": {"count": 1}});
    let result = run(&url, &mix, &changes);
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!(result["samples"].as_array().map(Vec::len), Some(2));
    let taken = log.taken();
    let sent: Vec<_> = taken.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(sent, ["GET /in", "GET /3", "GET /0/3"].repeat(2));
    assert_eq!(taken.last().map(|request| request.connection), Some(5));
}
