//! Whatever a server sends, a user's next request has the lines that its template has.

use proptest::prelude::*;
use tare_load::dialogue::Dialogue;
use tare_load::h1::users::{Sequences, Users};
use tare_load::keys::Keys;
use tare_load::pipeline::Pipeline;
use tare_load::plan::requests::Requests;
use tare_load::plan::sequence::sequences;
use tare_load::plan::targets::Targets;
use tare_load::spec::Spec;

const SPEC: &str = r#"{"url": "http://h/", "sequence": {"cookies": true}, "mix": [
    {"url": "/in", "take": {"j": "json:/j", "h": "header:x-h", "c": "cookie:c", "l": "location"}},
    {"url": "${l}", "headers": {"X-H": "${h}", "X-C": "a${c}"}},
    {"url": "/p/${h}?${c}", "method": "POST", "body": "<${j}>"}]}"#;

fn made() -> Sequences {
    let spec = Spec::from_json(SPEC).expect("a spec");
    let targets = Targets::of(&spec).expect("a target");
    let requests = Requests::of(&spec, &targets).expect("requests");
    sequences(&spec, &requests).expect("a sequence")
}

/// The shape of a request: method, header names and true if the body has its length.
fn shape(bytes: &[u8]) -> (String, Vec<String>, bool) {
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(bytes).expect("a request");
    let length = parsed.unwrap();
    let own = request.headers.iter();
    let stated = own.clone().find(|header| header.name == "Content-Length");
    let stated = stated.map_or(0, |header| {
        let text = std::str::from_utf8(header.value).expect("a number");
        text.parse().expect("a number")
    });
    assert!(request.path.expect("a path").starts_with('/'));
    let names = own.map(|header| header.name.to_string());
    let method = request.method.expect("a method").to_string();
    (method, names.collect(), bytes.len() - length == stated)
}

/// Let a user send all its requests, the first of which is answered by `answer`.
fn check(sequences: &Sequences, answer: &[u8]) {
    let keys = vec![Keys::new(None, 1, 0, (0, 1))];
    let mut dialogue = Pipeline::new(Users::new(sequences, keys), 1);
    let mut out = Vec::new();
    let mut connection = dialogue.begin(0, &mut out);
    dialogue
        .send(&mut connection, 0, 0, &mut out)
        .expect("room");
    let (mut replies, mut events) = (Vec::new(), Vec::new());
    if dialogue
        .recv(&mut connection, answer, &mut replies, &mut events)
        .is_err()
        || dialogue.room(&connection) == 0
    {
        return;
    }
    for _ in 1..3 {
        out.clear();
        dialogue
            .send(&mut connection, 0, 0, &mut out)
            .expect("room");
        let (method, mut names, whole) = shape(&out);
        names.retain(|name| name != "Cookie");
        let wanted: &[&str] = match (method.as_str(), names.len()) {
            // Begun anew.
            ("GET", 1) => &["Host"],
            ("GET", _) => &["Host", "X-H", "X-C"],
            _ => &["Host", "Content-Length"],
        };
        assert_eq!(names, wanted);
        assert!(whole);
        let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        dialogue
            .recv(&mut connection, ok, &mut replies, &mut events)
            .expect("an answer");
    }
}

/// Text with what matters in a request.
fn text() -> impl Strategy<Value = String> {
    "([a-z/?#;= \t\"\\\\]|\r\n|\r|\n|\u{0}|\u{7f}|é|X-Evil: 1|HTTP/1.1|GET /){0,6}"
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn values_stay_in_their_parts(j in text(), h in text(), c in text(), l in text(), path: bool) {
        let body = serde_json::json!({"j": j}).to_string();
        let slash = if path { "/" } else { "" };
        let answer = format!(
            "HTTP/1.1 200 OK\r\nX-H: {h}\r\nSet-Cookie: c={c}\r\nSet-Cookie: d{h}={c}\r\nLocation: {slash}{l}\r\n\
             Content-Length: {}\r\n\r\n{body}", body.len(),
        );
        check(&made(), answer.as_bytes());
    }
}

#[test]
fn a_plain_answer_leads_to_the_last_request() {
    let sequences = made();
    let body = r#"{"j": "x"}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nX-H: h\r\nSet-Cookie: c=v\r\nLocation: /l\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    check(&sequences, answer.as_bytes());
}
