//! Requests that are asked once each, and their answers as a result has them.

use crate::common;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use crate::common::{Server, Then, bare, count, run};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The body of an answer, or what was sent for it.
fn bytes(answer: &Value, field: &str) -> Vec<u8> {
    let text = answer[field].as_str().expect("base64");
    STANDARD.decode(text).expect("base64")
}

#[test]
fn each_request_is_asked_once_and_its_answer_kept() {
    let server = Server::start(|stream, number| {
        let answer: &[u8] = match number {
            0 => b"HTTP/1.1 103 Early\r\nX-Not: 1\r\n\r\nHTTP/1.1 404 No\r\nX-A: 1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            _ => b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\xff",
        };
        // A head that comes in two pieces is kept whole.
        let (one, other) = answer.split_at(answer.len() / 2);
        stream.write_all(one)?;
        stream.flush()?;
        stream.write_all(other)?;
        Ok(Then::Keep)
    });
    let mix = json!([{"url": "/a", "weight": 9}, {"url": "/b", "method": "PUT"}]);
    let asked = json!({"ask": true, "mix": mix, "connections": 7, "warmup_s": 1, "duration_s": 60});
    let result = run(server.address, &asked);
    assert_eq!((server.answered(), server.accepted()), (2, 1));
    let [first, second] = &result["answers"].as_array().expect("answers")[..] else {
        panic!("{result}");
    };
    assert_eq!(first["request"], "GET /a");
    assert_eq!(second["request"], "PUT /b");
    let (first, second) = (&first["answer"], &second["answer"]);
    assert_eq!(
        (&first["status"], &second["status"]),
        (&json!(404), &json!(200))
    );
    let headers = json!([["X-A", "1"], ["x-a", "2"], ["Transfer-Encoding", "chunked"]]);
    assert_eq!(first["headers"], headers);
    assert_eq!(
        (bytes(first, "body"), count(first, "length")),
        (b"abc".to_vec(), 3)
    );
    assert_eq!(bytes(second, "body"), b"\xff");
    // sha256sum of "abc" begins so.
    assert!(
        first["sha256"]
            .as_str()
            .expect("digits")
            .starts_with("ba7816bf")
    );
    assert_eq!(common::errors(&result), 0, "{result}");
}

#[test]
fn a_request_without_an_answer_has_none_and_the_reason_is_counted() {
    let server = Server::start(|_, _| Ok(Then::Close));
    let result = run(server.address, &json!({"ask": true, "duration_s": 60}));
    assert_eq!(
        result["answers"],
        json!([{"request": "GET /", "answer": null}])
    );
    assert_eq!(
        result["total"]["reasons"][0]["why"],
        "closed before the answer was whole"
    );
}

#[test]
fn bytes_that_should_come_back_are_kept_beside_those_that_came() {
    let address = bare::tcp("127.0.0.1", |mut stream| {
        let mut message = [0; 64];
        stream.read_exact(&mut message)?;
        message[9] ^= 1;
        stream.write_all(&message)
    });
    let result = bare::run(
        &format!("tcp://{address}"),
        &json!({"protocol": "echo", "ask": true}),
    );
    let answer = &result["answers"][0]["answer"];
    let (sent, came) = (bytes(answer, "sent"), bytes(answer, "body"));
    assert_eq!((sent.len(), came.len()), (64, 64));
    assert_eq!(
        (&sent[..9], sent[9] ^ 1, &sent[10..]),
        (&came[..9], came[9], &came[10..])
    );
    assert_eq!(common::errors(&result), 1, "{result}");
}

/// A server that accepts connections and says nothing.
fn silent() -> String {
    let address = bare::tcp("127.0.0.1", |_stream| {
        thread::sleep(Duration::from_secs(3600));
        Ok(())
    });
    address.to_string()
}

/// Asserts that nothing is answered, and that the run ends with the first failure, which is of `kind`.
fn assert_given_up(url: &str, changes: &Value, kind: &str, why: &str) {
    let mut asked = json!({"ask": true, "timeout_s": 0.3, "duration_s": 4});
    for (field, value) in changes.as_object().expect("an object") {
        asked[field] = value.clone();
    }
    let result = bare::run(url, &asked);
    let reasons = json!([{"kind": kind, "why": why, "count": 1}]);
    assert_eq!(result["total"]["reasons"], reasons, "{url}: {result}");
    let answers = result["answers"].as_array().expect("answers");
    let wanted = changes["mix"].as_array().map_or(1, Vec::len);
    assert_eq!(answers.len(), wanted, "{url}: {result}");
    let none = |each: &Value| each["answer"].is_null();
    assert!(answers.iter().all(none), "{url}: {result}");
}

#[test]
fn a_handshake_that_never_ends_is_given_up_like_an_answer_that_never_comes() {
    let place = silent();
    let tls = "no TLS handshake in time";
    for (protocol, scheme) in [
        ("h1", "https"),
        ("h2", "https"),
        ("grpc", "https"),
        ("ws", "wss"),
    ] {
        let url = format!("{scheme}://{place}/");
        let changes = json!({"protocol": protocol});
        assert_given_up(&url, &changes, "connect_timeout", tls);
    }
    let switch = "no switch to WebSocket in time";
    let changes = json!({"protocol": "ws"});
    assert_given_up(
        &format!("ws://{place}/"),
        &changes,
        "connect_timeout",
        switch,
    );
    let nobody = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let url = format!("https://{}/", nobody.local_addr().expect("an address"));
    let quic = "no QUIC handshake in time";
    assert_given_up(&url, &json!({"protocol": "h3"}), "connect_timeout", quic);
}

#[test]
fn a_server_that_says_nothing_is_asked_no_more() {
    let place = silent();
    let why = "the answer was not whole in time";
    let mix = json!([{"url": "/a"}, {"url": "/b"}, {"url": "/c"}]);
    for (protocol, scheme, mix) in [
        ("h1", "http", Some(&mix)),
        ("h2", "http", Some(&mix)),
        ("grpc", "http", None),
        ("echo", "tcp", None),
        ("proto", "tcp", None),
    ] {
        let mut changes = json!({"protocol": protocol});
        if let Some(mix) = mix {
            changes["mix"] = mix.clone();
        }
        assert_given_up(&format!("{scheme}://{place}"), &changes, "timeout", why);
    }
}
