//! Several requests to one server: their shares, their order, and what each is.

use std::io::{BufReader, Write};
use std::sync::{Arc, Mutex};

use crate::common::program::{File, program};
use crate::common::{bare, count, errors, site};
use serde_json::{Value, json};

/// The requests of its clients: first line, the `X-` headers, and the body.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// A server that notes each request and answers as HTTP wants it: nothing after the head of an
    /// answer to HEAD, status 201 to POST, and the path as body.
    fn serve(&self) -> String {
        let log = self.clone();
        let address = bare::tcp("127.0.0.1", move |stream| {
            let mut reader = BufReader::new(stream.try_clone()?);
            let mut to = stream;
            while let Some(request) = site::read(&mut reader, 0)? {
                let own = |line: &&String| line.to_ascii_lowercase().starts_with("x-");
                let headers = request.headers.iter().filter(own);
                let parts = [&request.line].into_iter().chain(headers);
                let mut text: String = parts.map(|part| format!("{part} ")).collect();
                text += &request.body;
                let words: Vec<&str> = text.split(' ').collect();
                let (method, path) = (words[0], words[1].to_string());
                let status = if method == "POST" { 201 } else { 200 };
                let content = if method == "HEAD" { "" } else { &path };
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n",
                    path.len()
                );
                log.0.lock().expect("no panic").push(text.trim_end().into());
                to.write_all((head + content).as_bytes())?;
            }
            Ok(())
        });
        format!("http://{address}")
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("no panic"))
    }
}

/// A run of a fixed number of requests.
fn run(url: &str, changes: &Value) -> Value {
    let mut spec = json!({"warmup_s": 0, "duration_s": 600, "requests": 2000, "connections": 1});
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    bare::run(url, &spec)
}

#[test]
fn weights_are_shares_of_the_requests_and_a_seed_makes_their_series() {
    let log = Log::default();
    let url = log.serve();
    let mix = json!([{"url": "/a", "weight": 6}, {"url": "/b", "weight": 3}, {"url": "/c"}]);
    let sent = |seed: u64| {
        let result = run(&url, &json!({"mix": mix, "seed": seed}));
        assert_eq!(errors(&result), 0, "{result}");
        log.taken()
    };
    let first = sent(1);
    let share = |path: &str| first.iter().filter(|line| line.contains(path)).count() as f64 / 2e3;
    // Five standard errors of a share of 0.5 in 2000.
    for (path, wanted) in [("/a", 0.6), ("/b", 0.3), ("/c", 0.1)] {
        assert!(
            (share(path) - wanted).abs() < 0.056,
            "{path}: {}",
            share(path)
        );
    }
    assert_eq!(first, sent(1));
    assert_ne!(first, sent(2));
}

#[test]
fn threads_and_streams_take_turns_through_the_list() {
    let log = Log::default();
    let url = log.serve();
    let mix = json!([{"url": "/a"}, {"url": "/b"}, {"url": "/c"}, {"url": "/d"}]);
    for (threads, depth) in [(1, 1), (3, 2)] {
        let result = run(
            &url,
            &json!({"mix": mix, "mix_order": "turns", "requests": 1200, "threads": threads,
                    "connections": threads, "depth": depth}),
        );
        assert_eq!(errors(&result), 0, "{result}");
        let sent = log.taken();
        for path in ["/a", "/b", "/c", "/d"] {
            let count = sent.iter().filter(|line| line.contains(path)).count();
            assert_eq!(count, 300, "{path}");
        }
    }
}

#[test]
fn each_request_has_its_own_oracle_whatever_came_before_it() {
    let log = Log::default();
    let url = log.serve();
    // The SHA-256 of "/hashed".
    let digest = "4299b2f081de1b5c30cf6d436a68bab4fa445fc9655f47cd0212af983f8ebdb5";
    let mix = json!([
        {"url": "/long", "expect": {"body_length": 5}},
        {"url": "/hashed", "expect": {"body_sha256": digest}},
        {"url": "/head", "method": "HEAD", "expect": {"body_length": 0}},
        {"url": "/posted", "method": "POST", "body": "abc", "expect": {"status": [201]}},
        {"url": "/wrong", "expect": {"body_length": 9}},
    ]);
    for depth in [1, 3] {
        let result = run(
            &url,
            &json!({"mix": mix, "mix_order": "turns", "depth": depth, "requests": 2500}),
        );
        assert_eq!(errors(&result), 500, "{result}");
        assert_eq!(count(&result, "errors.body"), 500);
        assert_eq!(count(&result, "total.statuses.201"), 500);
        log.taken();
    }
}

#[test]
fn each_origin_is_a_target() {
    let (one, two) = (Log::default(), Log::default());
    let (a, b) = (one.serve(), two.serve());
    let mix = json!([{"url": format!("{a}/1"), "weight": 2}, {"url": format!("{b}/2")},
                     {"url": format!("{a}/3"), "weight": 1}]);
    let open = json!({"kind": "open", "rate": 1000, "arrivals": "even"});
    let spec = json!({"url": null, "mix": mix, "connections": 4, "warmup_s": 0, "loop": open});
    let result = bare::run("", &spec);
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!((one.taken().len(), two.taken().len()), (300, 100));
    let parts = result["targets"].as_array().expect("a list");
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[0]["url"], format!("{a}/1"));
}

#[test]
fn a_file_s_requests_are_sent_as_they_are_written() {
    let log = Log::default();
    let url = log.serve();
    let text = "# a comment\n/plain?q=1\nHEAD /head\n{\"url\": \"/j\", \"method\": \"POST\", \
                \"headers\": {\"X-B\": [\"2\", \"3\"]}, \"body\": \"hi\", \
                \"expect\": {\"status\": [201]}}\n";
    let file = File::holding("in-order", text.as_bytes());
    let name = file.name();
    let more = [
        "--requests",
        name,
        "--in-order",
        "-c",
        "1",
        "-r",
        "3",
        "-H",
        "X-A: 1",
    ];
    let output = program(&[&[url.as_str()], &more[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let expected = [
        "GET /plain?q=1 X-A: 1",
        "HEAD /head X-A: 1",
        "POST /j X-A: 1 X-B: 2 X-B: 3 hi",
    ];
    assert_eq!(log.taken(), expected);
    let whole = File::holding("whole", format!("{url}/1\n{url}/2\n").as_bytes());
    let name = whole.name();
    let output = program(&["--requests", name, "--in-order", "-c", "1", "-r", "2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(log.taken(), ["GET /1", "GET /2"]);
}

#[test]
fn a_call_of_grpc_has_no_other_method() {
    let file = File::holding("calls", "POST /a.B/C\nHEAD /a.B/D\n");
    let url = "http://127.0.0.1:1/";
    let output = program(&[url, "-p", "grpc", "--requests", file.name()]);
    let said = String::from_utf8_lossy(&output.stderr);
    let words = ":2: method: HEAD for grpc, whose calls are POST; leave it out";
    assert!(
        output.status.code() == Some(2) && said.contains(words),
        "{said}"
    );
}

#[test]
fn a_file_that_is_none_of_requests_is_named_with_its_line() {
    for (name, text, found) in [
        ("empty", &b""[..], ": no request; write one a line"),
        ("words", b"/a\n\n/b c d e", ":3: 4 words; write a URL"),
        (
            "binary",
            b"\xff\xfe\0\0",
            " cannot be read (stream did not contain valid UTF-8)",
        ),
        (
            "json",
            b"{\"url\": \"/\"",
            ":1: EOF while parsing an object",
        ),
        (
            "method",
            b"G\x01T /",
            ":1: method: \"G\\u{1}T\" is not an HTTP method",
        ),
        ("path", b"/\n/a\x7fb", ":2: \"/a\\u{7f}b\" is not a path"),
        (
            "split",
            b"/\n{\"url\": \"/\", \"headers\": {\"X\": \"a\\r\\nb\"}}",
            ":2: headers: ",
        ),
        (
            "other",
            b"http://192.0.2.1/",
            ":1: \"http://192.0.2.1/\" is not at 127.0.0.1:1",
        ),
        (
            "status",
            b"{\"url\": \"/\", \"expect\": {\"status\": [7]}}",
            ":1: expect.status: 7 is not a status",
        ),
        (
            "keys",
            b"/\n/{key}",
            ":2: keys: \"/{key}\" has {key}, and no keys; say how many objects there are",
        ),
        (
            "weight",
            b"{\"url\": \"/\", \"weight\": 0}",
            ":1: weight: 0 is not above 0",
        ),
    ] {
        let file = File::holding(name, text);
        let path = file.name();
        let output = program(&["http://127.0.0.1:1/", "--requests", path, "-r", "1"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let place = format!("tare-load: --requests: {path}");
        assert!(
            said.starts_with(&place) && said.contains(found),
            "{name}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
