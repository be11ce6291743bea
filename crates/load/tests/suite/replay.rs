//! The replay of access logs against servers that say what they were asked.

use crate::common;
use std::io::{BufReader, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::common::program::{File, program};
use crate::common::{bare, count, errors, site};
use serde_json::{Value, json};

/// The first lines of its clients' requests, their bodies' lengths, and their times.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<Vec<(String, usize, Instant)>>>);

impl Server {
    /// Notes each request, and answers it with as many bytes as its path says, with status 404 below
    /// /missing; every second one from its cache.
    fn serve(&self) -> String {
        let server = self.clone();
        let address = bare::tcp("127.0.0.1", move |stream| {
            let mut reader = BufReader::new(stream.try_clone()?);
            let mut to = stream;
            while let Some(request) = site::read(&mut reader, 0)? {
                let (length, first) = (request.length(), request.line);
                let mut all = server.0.lock().expect("no panic");
                let cache = if all.len() % 2 == 0 { "MISS" } else { "HIT" };
                let status = if first.contains("/missing") { 404 } else { 200 };
                let size: usize = first
                    .rsplit('/')
                    .next()
                    .and_then(|n| n.parse().ok())
                    .unwrap_or(0);
                all.push((first, length as usize, Instant::now()));
                drop(all);
                let head = format!(
                    "HTTP/1.1 {status} X\r\nX-Cache: {cache}\r\nContent-Length: {size}\r\n\r\n"
                );
                to.write_all(&[head.into_bytes(), vec![b'x'; size]].concat())?;
            }
            Ok(())
        });
        format!("http://{address}")
    }

    fn taken(&self) -> Vec<(String, usize, Instant)> {
        std::mem::take(&mut *self.0.lock().expect("no panic"))
    }

    fn paths(&self) -> Vec<String> {
        self.taken().into_iter().map(|(first, ..)| first).collect()
    }
}

/// Lines of JSON for requests at these milliseconds.
fn log(entries: &[(u64, &str)]) -> String {
    let line =
        |(at, more): &(u64, &str)| format!("{{\"ts\": {}, {more}}}\n", 1e9 + *at as f64 / 1e3);
    entries.iter().map(line).collect()
}

fn replay(url: &str, file: &File, replay: Value, changes: &Value) -> Value {
    let mut spec = json!({"warmup_s": 0, "duration_s": 600, "replay": {"file": file.name()}});
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    for (field, value) in replay.as_object().expect("an object") {
        spec["replay"][field] = value.clone();
    }
    bare::run(url, &spec)
}

#[test]
fn a_log_is_sent_in_its_order_with_its_gaps_and_ends_the_window() {
    let server = Server::default();
    let url = server.serve();
    let lines = [
        (0, r#""uri": "/a/10", "size": 10"#),
        (300, r#""uri": "/b/20", "size": 20, "method": "DELETE""#),
        (200, r#""uri": "/c/30", "size": 30"#),
        (400, r#""uri": "/missing/5", "size": 5, "status": 404"#),
    ];
    let file = File::holding("order", log(&lines).as_bytes());
    for (threads, speed) in [(1, 1.0), (3, 2.0)] {
        let changes = json!({"threads": threads});
        let begin = Instant::now();
        let result = replay(&url, &file, json!({"speed": speed}), &changes);
        assert_eq!(errors(&result), 0, "{result}");
        let sent = server.taken();
        let paths: Vec<_> = sent.iter().map(|(first, ..)| first.as_str()).collect();
        assert_eq!(
            paths,
            ["GET /a/10", "GET /c/30", "DELETE /b/20", "GET /missing/5"]
        );
        // No request is early, whatever the machine does.
        let last = sent[3].2.duration_since(begin).as_secs_f64();
        assert!(last >= 0.4 / speed, "{last}");
        assert_eq!(count(&result, "load.offered"), 4);
        assert_eq!(result["load"]["arrivals"], "log");
        assert_eq!(result["replay"]["entries"], 4);
        assert_eq!(result["replay"]["sizes_ks"], 0.0);
        assert!(result["replay"]["gaps_ks"].is_number(), "{result}");
        let window = result["window_s"].as_f64().expect("a number");
        assert!(window < 0.54 / speed, "{window}");
    }
}

#[test]
fn a_log_begins_again_if_it_is_to() {
    let server = Server::default();
    let url = server.serve();
    let file = File::holding(
        "again",
        log(&[(0, r#""uri": "/a""#), (50, r#""uri": "/b""#)]).as_bytes(),
    );
    // One connection, since a server may look at several in another order.
    let changes = json!({"requests": 7, "threads": 1, "connections": 1});
    let result = replay(&url, &file, json!({"repeat": true}), &changes);
    assert_eq!(errors(&result), 0, "{result}");
    let expected = ["GET /a", "GET /b"].repeat(4);
    assert_eq!(server.paths(), expected[..7]);
    assert_eq!(result["replay"]["sent"], 7);
}

#[test]
fn a_difference_from_the_log_is_reported() {
    let server = Server::default();
    let url = server.serve();
    // Half of the answers are not as long as they were.
    let line = |n: u64| match n % 2 {
        0 => (n, r#""uri": "/10", "size": 10"#),
        _ => (n, r#""uri": "/10", "size": 99"#),
    };
    let lines: Vec<_> = (0..100).map(line).collect();
    let file = File::holding("differs", log(&lines).as_bytes());
    let result = replay(&url, &file, json!({}), &json!({"cache_header": "x-cache"}));
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!(result["replay"]["sizes_ks"], 0.5);
    assert_eq!(result["outcomes"]["hit_ratio"], 0.5);
    // The log's own statuses are expected, unless the spec says otherwise.
    let file = File::holding(
        "status",
        log(&[(0, r#""uri": "/", "status": 500"#)]).as_bytes(),
    );
    let result = replay(&url, &file, json!({}), &json!({}));
    assert_eq!(count(&result, "errors.status"), 1, "{result}");
    let result = replay(&url, &file, json!({"expect_logged": false}), &json!({}));
    assert_eq!(errors(&result), 0, "{result}");
}

#[test]
fn a_request_that_is_sent_late_counts_from_its_time_in_the_log() {
    // One connection, and a server that holds the first answer back.
    let url = bare::tcp("127.0.0.1", |mut stream| {
        let mut piece = [0; 4096];
        for number in 0.. {
            if stream.read(&mut piece)? == 0 {
                break;
            }
            if number == 0 {
                std::thread::sleep(std::time::Duration::from_millis(300));
            }
            stream.write_all(common::OK)?;
        }
        Ok(())
    });
    let lines: Vec<_> = (0..10).map(|n| (n * 10, r#""uri": "/""#)).collect();
    let file = File::holding("late", log(&lines).as_bytes());
    let result = replay(
        &format!("http://{url}"),
        &file,
        json!({}),
        &json!({"connections": 1}),
    );
    assert_eq!(errors(&result), 0, "{result}");
    let time = |name: &str| result["outcomes"][name].as_f64().expect("a number");
    assert!(time("latency_mean_us") > 200_000.0, "{result}");
    assert_eq!(count(&result, "load.completed"), 10);
    // All gaps were ten milliseconds, and the first of nine became 300.
    let distance = result["replay"]["gaps_ks"].as_f64().expect("a number");
    assert!(distance > 0.1, "{distance}");
}

#[test]
fn all_formats_are_replayed_by_the_program() {
    let server = Server::default();
    let url = server.serve();
    let combined = "::1 - - [10/Oct/2000:13:55:36 +0000] \"GET /a/3?q HTTP/1.1\" 200 0 \"-\" \"x\"\n\
                    broken\n\
                    ::1 - - [10/Oct/2000:13:55:36 +0000] \"HEAD /missing HTTP/1.1\" 404 -\n";
    let har = json!({"log": {"entries": [{
        "startedDateTime": "2024-02-29T00:00:00Z",
        "request": {"method": "POST", "url": "https://other/h", "bodySize": 1234},
        "response": {"status": 200, "bodySize": 0},
    }]}});
    for (name, text, format, expected) in [
        (
            "combined",
            combined.into(),
            "combined",
            vec![("GET /a/3?q", 0), ("HEAD /missing", 0)],
        ),
        (
            "json",
            log(&[(0, r#""uri": "/j", "body": "abc""#)]),
            "json",
            vec![("GET /j", 3)],
        ),
        ("har", har.to_string(), "har", vec![("POST /h", 1234)]),
    ] {
        let file = File::holding(name, text.as_bytes());
        for more in [&["--json"][..], &["--json", "--log-format", format]] {
            let arguments = [&[&url, "--replay", file.name(), "--speed", "4"], more].concat();
            let output = program(&arguments);
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            let result: Value = serde_json::from_slice(&output.stdout).expect("a result");
            assert_eq!(result["replay"]["format"], format);
            assert_eq!(result["replay"]["skipped"], usize::from(name == "combined"));
            let sent = server.taken();
            let sent = sent
                .iter()
                .map(|(first, length, _)| (first.as_str(), *length));
            assert_eq!(sent.collect::<Vec<_>>(), expected);
        }
    }
    let file = File::holding("summary", combined.as_bytes());
    let output = program(&[&url, "--replay", file.name(), "--speed", "8"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("replay        2 of the log's 2 requests; distance (KS) of gaps "),
        "{text}"
    );
    assert!(text.contains("; 1 line is no request"), "{text}");
}

/// The requests of two targets that a log of 40 is replayed to in slices.
fn in_slices(changes: &Value) -> [Vec<String>; 2] {
    let lines: String = (0..40)
        .map(|at| {
            format!(
                "{{\"ts\": {}, \"uri\": \"/{at}\"}}\n",
                1e9 + f64::from(at) * 0.0013
            )
        })
        .collect();
    let file = File::holding("slices", lines.as_bytes());
    let servers = [Server::default(), Server::default()];
    let targets: Vec<_> = servers
        .iter()
        .map(|server| json!({"url": server.serve()}))
        .collect();
    let mut spec = json!({
        "targets": targets, "connections": 1, "warmup_s": 0.0, "duration_s": 2.0, "seed": 3,
        "timeout_s": 20.0, "slices": {"length_ms": 5, "gap_us": 1e9},
        "replay": {"file": file.name(), "expect_logged": false},
    });
    for (field, value) in changes.as_object().expect("an object") {
        spec["replay"][field] = value.clone();
    }
    let spec = tare_load::spec::Spec::from_json(&spec.to_string()).expect("a valid spec");
    let interrupt = std::sync::atomic::AtomicBool::new(false);
    let report = tare_load::run::run(&spec, &mut common::Silent, &interrupt);
    let result = serde_json::to_value(report.expect("a finished run")).expect("JSON");
    assert_eq!(errors(&result), 0, "{result}");
    servers.map(|server| server.paths())
}

#[test]
fn targets_in_turns_are_sent_the_same_part_of_a_log() {
    let [one, other] = in_slices(&json!({}));
    let both = one.len().min(other.len());
    // More than the log has: it begins again.
    assert!(both > 40, "{both} requests");
    assert_eq!(one[..both], other[..both]);
    // A slice has four requests at most, and the run may end between the targets' slices.
    assert!(
        one.len().abs_diff(other.len()) <= 4,
        "{} and {}",
        one.len(),
        other.len()
    );
    let number = |path: &String| path["GET /".len()..].parse::<usize>().expect("a number");
    for pair in one.windows(2) {
        assert_eq!((number(&pair[0]) + 1) % 40, number(&pair[1]));
    }
}

#[test]
fn a_log_without_its_times_has_its_order() {
    // No thread could send it at that speed.
    for requests in in_slices(&json!({"timed": false, "speed": 1e9})) {
        let number = |path: &String| path["GET /".len()..].parse::<usize>().expect("a number");
        assert!(requests.len() > 40, "{} requests", requests.len());
        for pair in requests.windows(2) {
            assert_eq!((number(&pair[0]) + 1) % 40, number(&pair[1]));
        }
    }
}

#[test]
fn what_cannot_be_replayed_is_named() {
    let good = File::holding("good", log(&[(0, r#""uri": "/""#)]).as_bytes());
    let bad = File::holding("bad", b"\0\xff[[\"\n{{{");
    let empty = File::holding("nothing", b"");
    let url = "http://127.0.0.1:1/";
    for (arguments, found) in [
        (
            vec![url, "--replay", "/nonexistent"],
            "--replay: /nonexistent cannot be read",
        ),
        (
            vec![url, "--replay", bad.name()],
            "no request; the 1. entry: ",
        ),
        (vec![url, "--replay", empty.name()], "it is empty"),
        (
            vec![url, "--replay", good.name(), "--speed", "0"],
            "--speed: 0 is not above 0",
        ),
        (
            vec![url, "--replay", good.name(), "--speed", "1e9"],
            " a second for each thread; write a lower one",
        ),
        (
            vec![url, "--replay", good.name(), "--warmup", "1h"],
            "--warmup: 3600 s, and the log lasts ",
        ),
        (
            vec![url, "--replay", good.name(), "--log-format", "har"],
            "no HAR: ",
        ),
        (
            vec!["tcp://127.0.0.1:1", "--replay", good.name()],
            "--replay: a log is of HTTP",
        ),
        (
            vec![url, url, "--replay", good.name()],
            "--replay: 2 URLs for one log; write one",
        ),
        (
            vec![url, "--replay", good.name(), "--cache-header", "X Y"],
            "--cache-header: ",
        ),
        (
            vec![url, "--replay", good.name(), "--rate", "5"],
            "cannot be used with",
        ),
        (vec![url, "--speed", "5"], "required"),
    ] {
        let output = program(&arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(found), "{found}: {said}");
    }
}
