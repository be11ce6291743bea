//! HTTP/3 against a QUIC server that says what each test wants.

use std::net::{SocketAddr, UdpSocket};

use crate::common::{assert_adds_up, bare, count, errors, quic};
use quinn::{Connection, ConnectionError, SendStream, VarInt};
use serde_json::{Value, json};
use tare_load::h3::{qpack, varint};

const DATA: u64 = 0;
const HEADERS: u64 = 1;
const SETTINGS: u64 = 4;
const GOAWAY: u64 = 7;

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::write(kind, &mut bytes);
    varint::write(payload.len() as u64, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// A header section with this status, and a length if there is one.
fn head(status: u16, length: Option<usize>) -> Vec<u8> {
    let mut section = Vec::new();
    qpack::begin(&mut section);
    qpack::named(24, status.to_string().as_bytes(), &mut section);
    if let Some(length) = length {
        qpack::named(4, length.to_string().as_bytes(), &mut section);
    }
    frame(HEADERS, &section)
}

fn ok(body: &[u8]) -> Vec<u8> {
    [head(200, Some(body.len())), frame(DATA, body)].concat()
}

/// What a server does with the request of some number on its connection.
enum Do {
    /// Says so, and ends the stream.
    Say(Vec<u8>),
    /// Says so, and resets the stream.
    Reset(Vec<u8>),
    /// Says so on its control stream before it answers.
    Announce(Vec<u8>, Vec<u8>),
    /// Says so on its control stream, and nothing else.
    Warn(Vec<u8>),
    /// Says nothing.
    Hang,
    /// Closes the connection.
    Close,
}

type Handler = fn(&[u8], u64) -> Do;

/// A server that speaks `alpn`, and begins its control stream with `hello`.
fn serve(alpn: &[u8], hello: Vec<u8>, handler: Handler) -> SocketAddr {
    quic::serve(alpn, move |connection| {
        converse(connection, hello.clone(), handler)
    })
}

async fn converse(
    connection: Connection,
    hello: Vec<u8>,
    handler: Handler,
) -> Result<(), ConnectionError> {
    let mut control = connection.open_uni().await?;
    let _ = control.write_all(&hello).await;
    let mut hanging: Vec<SendStream> = Vec::new();
    for number in 0.. {
        let (mut send, mut receive) = connection.accept_bi().await?;
        let request = receive.read_to_end(1 << 24).await.unwrap_or_default();
        match handler(&request, number) {
            Do::Say(bytes) => {
                let _ = send.write_all(&bytes).await;
                let _ = send.finish();
            }
            Do::Reset(bytes) => {
                let _ = send.write_all(&bytes).await;
                let _ = send.reset(VarInt::from_u32(0x10c));
            }
            Do::Announce(news, bytes) => {
                let _ = control.write_all(&news).await;
                let _ = send.write_all(&bytes).await;
                let _ = send.finish();
            }
            Do::Warn(news) => {
                let _ = control.write_all(&news).await;
                hanging.push(send);
            }
            Do::Hang => hanging.push(send),
            Do::Close => connection.close(VarInt::from_u32(0x100), b""),
        }
    }
    Ok(())
}

fn hello() -> Vec<u8> {
    [vec![0], frame(SETTINGS, &[])].concat()
}

/// A run against a proper server.
fn load(handler: Handler, changes: &Value) -> Value {
    run(serve(b"h3", hello(), handler), changes)
}

fn run(address: SocketAddr, changes: &Value) -> Value {
    let mut spec = json!({"protocol": "h3"});
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    bare::run(&format!("https://{address}/path"), &spec)
}

fn reasons(result: &Value) -> String {
    result["total"]["reasons"].to_string()
}

/// Asserts that a run has no success, and only failures of `kind`, for a reason with `why` in it.
fn assert_fails(result: &Value, kind: &str, why: &str) {
    assert_eq!(count(result, "load.completed"), 0, "{result}");
    let failed = count(result, &format!("total.errors.{kind}"));
    assert!(failed > 0 && failed == errors(result), "{result}");
    assert!(reasons(result).contains(why), "{result}");
}

#[test]
fn answers_are_counted() {
    for (depth, threads) in [(1, 1), (10, 2)] {
        let expect = json!({"body_length": 2});
        let result = load(
            |_, _| Do::Say(ok(b"ok")),
            &json!({"depth": depth, "threads": threads, "expect": expect}),
        );
        assert_eq!(errors(&result), 0, "{result}");
        assert!(count(&result, "load.completed") > 0);
        assert!(count(&result, "outcomes.connect_max_us") > 0);
        assert_adds_up(&result);
    }
}

#[test]
fn large_bodies_come_whole_in_both_directions() {
    let answer = |request: &[u8], _| {
        let body = vec![b'x'; 3_000_000];
        // The request's own body is 300,000 bytes behind its header.
        let whole = request.len() > 300_000 && request.len() < 300_200;
        Do::Say(if whole { ok(&body) } else { head(400, Some(0)) })
    };
    let post = json!({
        "method": "POST", "body": {"size": 300_000}, "expect": {"body_length": 3_000_000}, "depth": 2,
        "requests": 6, "warmup_s": 0, "duration_s": 600,
    });
    let result = load(answer, &post);
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!(count(&result, "load.completed"), 6);
    // Large answers come in several pieces.
    let time = |name: &str| result["outcomes"][name].as_f64().expect("a number");
    assert!(time("ttfb_mean_us") < time("latency_mean_us"));
}

#[test]
fn a_wrong_status_or_body_is_an_error() {
    let result = load(|_, _| Do::Say(head(503, Some(0))), &json!({}));
    assert_fails(&result, "status", "unexpected status");
    let result = load(
        |_, _| Do::Say(ok(b"no!")),
        &json!({"expect": {"body_length": 2}}),
    );
    assert_fails(&result, "body", "unexpected body length");
}

#[test]
fn malformed_answers_are_read_errors() {
    let cases: [(Handler, &str); 8] = [
        (
            |_, _| Do::Say(Vec::new()),
            "the stream ended before the header",
        ),
        (
            |_, _| Do::Say(frame(DATA, b"ok")),
            "a body before its header",
        ),
        (
            |_, _| Do::Say([head(200, Some(5)), frame(DATA, b"ok")].concat()),
            "a body shorter",
        ),
        (
            |_, _| Do::Say([head(200, Some(1)), frame(DATA, b"ok")].concat()),
            "a body longer",
        ),
        (|_, _| Do::Say(ok(b"ok")[..6].to_vec()), "within a frame"),
        (|_, _| Do::Say(vec![0xff; 100]), ""),
        (
            |_, _| Do::Say(frame(HEADERS, &[0, 0, 0x80])),
            "points to no entry",
        ),
        (|_, _| Do::Reset(head(200, Some(9))), "reset the stream"),
    ];
    for (handler, why) in cases {
        assert_fails(&load(handler, &json!({"connections": 2})), "read", why);
    }
}

#[test]
fn a_control_stream_that_breaks_the_rules_ends_the_connection() {
    for (said, why) in [
        (vec![1], "a push, although pushes are disabled"),
        (
            [vec![0], frame(GOAWAY, &[0])].concat(),
            "does not begin with SETTINGS",
        ),
        (
            [hello(), frame(SETTINGS, &[])].concat(),
            "a second SETTINGS frame",
        ),
        (
            [hello(), frame(DATA, b"x")].concat(),
            "not allowed on this stream",
        ),
    ] {
        let address = serve(b"h3", said, |_, _| Do::Hang);
        let result = run(address, &json!({"connections": 1}));
        assert_eq!(count(&result, "load.completed"), 0, "{result}");
        assert!(reasons(&result).contains(why), "{result}");
    }
}

#[test]
fn a_farewell_moves_the_load_to_another_connection() {
    let result = load(
        |_, number| match number {
            // The streams up to the third are answered: the fourth would be number 12.
            2 => Do::Announce(frame(GOAWAY, &[12]), ok(b"ok")),
            _ => Do::Say(ok(b"ok")),
        },
        &json!({"connections": 2}),
    );
    assert!(count(&result, "load.completed") > 3, "{result}");
    assert!(
        errors(&result) == 0 || reasons(&result).contains("GOAWAY"),
        "{result}"
    );
}

#[test]
fn a_closed_connection_fails_what_was_in_flight() {
    let result = load(|_, _| Do::Close, &json!({"connections": 2}));
    assert_fails(&result, "read", "the server closed the connection");
}

#[test]
fn late_answers_are_given_up_without_the_connection() {
    let result = load(
        |_, number| {
            if number % 2 == 0 {
                Do::Hang
            } else {
                Do::Say(ok(b"ok"))
            }
        },
        &json!({"connections": 1, "depth": 4, "timeout_s": 0.2, "connect_timeout_s": 20, "requests": 12, "warmup_s": 0, "duration_s": 600}),
    );
    assert!(count(&result, "total.errors.timeout") > 0, "{result}");
    assert!(count(&result, "load.completed") > 0, "{result}");
    assert_adds_up(&result);
}

#[test]
fn servers_that_cannot_be_reached_are_connect_errors() {
    let closed = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("an address");
    let late = json!({"connect_timeout_s": 0.1, "timeout_s": 0.2});
    assert_fails(
        &run(address, &late),
        "connect_timeout",
        "no QUIC handshake in time",
    );
    drop(closed);
    assert_fails(&run(address, &late), "connect", "connection refused");
}

#[test]
fn a_server_without_http3_is_a_connect_error() {
    let address = serve(b"hq-interop", hello(), |_, _| Do::Hang);
    assert_fails(
        &run(address, &json!({"connections": 1})),
        "connect",
        "QUIC handshake",
    );
}

#[test]
fn a_connection_carries_as_many_requests_as_it_may() {
    let once = |_: &[u8], number| {
        Do::Say(if number == 0 {
            ok(b"ok")
        } else {
            head(500, Some(0))
        })
    };
    let changes = json!({"requests": 20, "warmup_s": 0, "duration_s": 600,
                         "requests_per_connection": 1});
    let result = load(once, &changes);
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!(count(&result, "load.completed"), 20);
}

#[test]
fn requests_of_a_mix_have_their_own_bodies_and_oracles() {
    let answer = |request: &[u8], _| match request.len() {
        // The answer to HEAD has a length and no body.
        ..1_000 => Do::Say(head(200, Some(2))),
        1_000..10_000 => Do::Say([head(203, Some(2)), frame(DATA, b"ok")].concat()),
        _ => Do::Say(ok(b"large")),
    };
    let mix = json!([
        {"url": "/none", "method": "HEAD", "expect": {"body_length": 0}},
        {"url": "/3", "body": {"size": 3000}, "expect": {"status": [203], "body_length": 2}},
        {"url": "/20", "body": {"size": 20_000}, "expect": {"body_length": 6}},
    ]);
    let result = load(
        answer,
        &json!({"mix": mix, "mix_order": "turns", "method": "POST", "requests": 90, "warmup_s": 0,
                "duration_s": 600, "depth": 3}),
    );
    assert_eq!(errors(&result), 30, "{result}");
    assert_eq!(count(&result, "errors.body"), 30, "{result}");
    assert_eq!(count(&result, "total.statuses.203"), 30);
}

#[test]
fn a_connection_that_takes_no_more_requests_ends_with_its_last_one() {
    // Stream 0 is below the first that is not answered.
    let result = load(
        |_, _| Do::Warn(frame(GOAWAY, &[4])),
        &json!({"connections": 1, "requests": 1, "timeout_s": 2, "warmup_s": 0, "duration_s": 600}),
    );
    assert_eq!(count(&result, "total.errors.timeout"), 1, "{result}");
    assert_eq!(errors(&result), 1, "{result}");
}

#[test]
fn a_request_whose_answer_breaks_the_connection_is_not_lost_with_it() {
    let result = load(|_, _| Do::Say(frame(DATA, b"x")), &json!({}));
    assert_fails(&result, "read", "a body before its header");
    assert_eq!(count(&result, "total.lost_new"), 0, "{result}");
    assert_eq!(count(&result, "total.lost_kept"), 0, "{result}");
}
