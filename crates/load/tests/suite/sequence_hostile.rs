//! Whatever a server sends, a user's next request has the lines that its template has.

use proptest::prelude::*;
use tare_load::cache_header::CacheHeader;
use tare_load::crowd::parts::Compose;
use tare_load::crowd::seats::Seats;
use tare_load::crowd::turn::{Crowd, Sequences};
use tare_load::dialogue::Dialogue;
use tare_load::h1::users::Users;
use tare_load::h1::valued::{self, Valued};
use tare_load::h2::frame::{HEADER, Header, kind};
use tare_load::h2::{self, H2};
use tare_load::h3::request::Buffers;
use tare_load::h3::response::Response;
use tare_load::h3::{self, qpack};
use tare_load::hpack::{Decoder, Scratch};
use tare_load::keys::Keys;
use tare_load::pipeline::Pipeline;
use tare_load::plan::requests::Requests;
use tare_load::plan::sequence::sequences;
use tare_load::plan::targets::Targets;
use tare_load::spec::Spec;

use crate::common::h2::{answer, data, headers, settings};
use crate::common::quic_site;

const SPEC: &str = r#"{"url": "http://h/", "sequence": {"cookies": true}, "mix": [
    {"url": "/in", "take": {"j": "json:/j", "h": "header:x-h", "c": "cookie:c", "l": "location"}},
    {"url": "${l}", "headers": {"X-H": "${h}", "X-C": "a${c}"}},
    {"url": "/p/${h}?${c}", "method": "POST", "body": "<${j}>"}]}"#;

fn made<R>(compose: Compose<R>) -> Sequences<R> {
    let spec = Spec::from_json(SPEC).expect("a spec");
    let targets = Targets::of(&spec).expect("a target");
    let requests = Requests::of(&spec, &targets).expect("requests");
    sequences(&spec, &requests, compose).expect("a sequence")
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
fn check(sequences: &Sequences<Valued>, answer: &[u8]) {
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

/// The same of a request of HTTP/2, whose pseudo-headers are its method and path.
fn shape_in_stream(bytes: &[u8]) -> (String, Vec<String>, bool) {
    let (mut rest, mut block, mut body) = (bytes, Vec::new(), 0);
    while let Some(header) = rest.first_chunk() {
        let header = Header::read(header);
        let (frame, after) = rest.split_at(HEADER + header.length);
        match header.kind {
            kind::HEADERS | kind::CONTINUATION => block.extend_from_slice(&frame[HEADER..]),
            kind::DATA => body += header.length,
            _ => {}
        }
        rest = after;
    }
    let mut shape = Shape::default();
    let field = |name: &[u8], value: &[u8]| shape.field(name, value);
    let decoded = Decoder::default().decode(&block, &mut Scratch::default(), field);
    decoded.expect("a block");
    (shape.method, shape.names, body == shape.stated)
}

/// The shape of a request in fields.
#[derive(Default)]
struct Shape {
    method: String,
    names: Vec<String>,
    /// The length that it states for its body.
    stated: usize,
}

impl Shape {
    fn field(&mut self, name: &[u8], value: &[u8]) {
        let text = String::from_utf8_lossy(value).into_owned();
        match name {
            b":method" => self.method = text,
            b":path" => assert!(text.starts_with('/') && !text.contains(' '), "{text}"),
            b":scheme" | b":authority" => {}
            _ => {
                if name == b"content-length" {
                    self.stated = text.parse().expect("a number");
                }
                assert!(!value.iter().any(u8::is_ascii_control), "{text:?}");
                self.names.push(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
}

/// The same of a request of HTTP/3.
fn shape_in_quic(bytes: &[u8]) -> (String, Vec<String>, bool) {
    let (mut shape, mut length) = (Shape::default(), 0);
    for (kind, payload) in quic_site::frames(bytes) {
        match kind {
            quic_site::HEADERS => {
                let field = |name: &[u8], value: &[u8]| shape.field(name, value);
                let read = qpack::read(payload, &CacheHeader::default(), field);
                read.expect("a section");
            }
            _ => length += payload.len(),
        }
    }
    (shape.method, shape.names, length == shape.stated)
}

/// Let a user of HTTP/2 send all its requests, the first of which is answered by `frames`.
fn check_in_stream(sequences: &Sequences<h2::request::Request>, frames: &[u8]) {
    let keys = vec![Keys::new(None, 1, 0, (0, 1))];
    let mut h2 = H2::of_users(sequences, 1, keys);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = h2.begin(0, &mut out);
    h2.send(&mut connection, 0, 0, &mut out).expect("room");
    let mut answers = [settings(&[]), frames.to_vec()].concat();
    for stream in [3, 5] {
        let received = h2.recv(&mut connection, &answers, &mut Vec::new(), &mut events);
        if received.is_err() || h2.room(&connection) == 0 {
            return;
        }
        out.clear();
        h2.send(&mut connection, 0, 0, &mut out).expect("room");
        assert_shape(shape_in_stream(&out));
        answers = answer(stream, b"");
    }
}

/// Assert that a request in fields is one of the sequence.
fn assert_shape((method, mut names, whole): (String, Vec<String>, bool)) {
    names.retain(|name| name != "cookie");
    let wanted: &[&str] = match (method.as_str(), names.len()) {
        // Begun anew.
        ("GET", 0) => &[],
        ("GET", _) => &["x-h", "x-c"],
        _ => &["content-length"],
    };
    assert_eq!(names, wanted);
    assert!(whole);
}

/// Let a user of HTTP/3 send all its requests, the first of which is answered by `frames`.
fn check_in_quic(sequences: &Sequences<h3::request::Request>, frames: &[u8]) {
    let crowd = Crowd::new(sequences, 1);
    let (mut keys, mut buffers) = (Keys::new(None, 1, 0, (0, 1)), Buffers::default());
    let mut seat = Seats::default().take(1, &crowd, 0);
    let mut answer = frames;
    let plain = quic_site::answer_frames("200", [], "");
    for _ in 0..3 {
        let number = seat.turn.next(0) as usize;
        let exchange = &sequences.exchanges[number];
        let mut out = Vec::new();
        let asked = &exchange.request;
        asked.write(Some(&mut *seat), &mut keys, &mut buffers, &mut out);
        assert_shape(shape_in_quic(&out));
        seat.turn.sent(&sequences.steps[number]);
        let mut response = Response::new(&exchange.expect, false);
        let read = response.feed(answer).and_then(|()| response.end());
        match read {
            Ok(status) => {
                let failure = response.judge(&exchange.expect);
                let body_check = response.body_check();
                let step = &sequences.steps[number];
                seat.turn.answered(step, status, failure, body_check);
            }
            Err(_) => seat.turn.lost(),
        }
        answer = &plain;
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
        check(&made(valued::compose), answer.as_bytes());
        let (cookie, other) = (format!("c={c}"), format!("d{h}={c}"));
        let (location, length) = (format!("{slash}{l}"), body.len().to_string());
        let fields = [
            (":status", "200"), ("x-h", h.as_str()), ("set-cookie", &cookie),
            ("set-cookie", &other), ("location", &location), ("content-length", &length),
        ];
        let frames = [headers(1, false, &fields), data(1, true, body.as_bytes())].concat();
        check_in_stream(&made(h2::request::of_user), &frames);
        let frames = quic_site::answer_frames("200", fields[1..].iter().copied(), &body);
        check_in_quic(&made(h3::request::of_user), &frames);
    }
}

#[test]
fn a_plain_answer_leads_to_the_last_request() {
    let sequences = made(valued::compose);
    let body = r#"{"j": "x"}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nX-H: h\r\nSet-Cookie: c=v\r\nLocation: /l\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    check(&sequences, answer.as_bytes());
}
