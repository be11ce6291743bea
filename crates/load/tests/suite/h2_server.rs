//! HTTP/2 against the h2 crate's server.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use crate::common::{assert_adds_up, count, errors, run};
use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

/// What came of a request.
type Answering = Pin<Box<dyn Future<Output = Result<(), h2::Error>> + Send>>;
type Handler = fn(Request<RecvStream>, SendResponse<Bytes>, u64) -> Answering;

struct Server {
    address: SocketAddr,
    /// Connections so far.
    accepted: Arc<AtomicU64>,
}

/// A server as `builder` makes it. `handler` answers each request and is told its number on its
/// connection, from 0; connections say GOAWAY after so many `requests`.
fn serve(builder: Builder, requests: u64, handler: Handler) -> Server {
    let (send, receive) = std::sync::mpsc::channel();
    let accepted = Arc::new(AtomicU64::new(0));
    let counter = accepted.clone();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            send.send(listener.local_addr().expect("an address"))
                .expect("a test");
            while let Ok((socket, _)) = listener.accept().await {
                counter.fetch_add(1, SeqCst);
                let builder = builder.clone();
                tokio::spawn(async move {
                    let mut connection = builder.handshake(socket).await?;
                    let mut number = 0;
                    while let Some(request) = connection.accept().await {
                        let (request, respond) = request?;
                        tokio::spawn(handler(request, respond, number));
                        number += 1;
                        if number == requests {
                            connection.graceful_shutdown();
                        }
                    }
                    Ok::<(), h2::Error>(())
                });
            }
        });
    });
    Server {
        address: receive.recv().expect("a server"),
        accepted,
    }
}

fn two_bytes(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    number: u64,
) -> Answering {
    let bodiless = request.method() == http::Method::HEAD;
    Box::pin(async move {
        // Fields that change let the server use its table of them.
        let response = Response::builder()
            .header("x-number", (number % 7).to_string())
            .header("server", "a server with a rather long name");
        let mut body = respond.send_response(response.body(()).expect("a response"), bodiless)?;
        if bodiless {
            return Ok(());
        }
        body.send_data("ok".into(), true)
    })
}

fn h2(changes: Value) -> Value {
    let mut spec = json!({"protocol": "h2", "depth": 10});
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    spec
}

fn assert_all_right(server: &Server, changes: Value) -> Value {
    let result = run(server.address, &h2(changes));
    assert!(count(&result, "total.requests") > 0, "{result}");
    assert_eq!(errors(&result), 0, "{result}");
    assert_adds_up(&result);
    result
}

#[test]
fn many_streams_on_few_connections() {
    let server = serve(Builder::new(), 0, two_bytes);
    assert_all_right(
        &server,
        json!({"depth": 50, "connections": 3, "expect": {"body_length": 2}}),
    );
    assert_eq!(server.accepted.load(SeqCst), 3);
    assert_all_right(
        &server,
        json!({"depth": 1, "method": "HEAD", "expect": {"body_length": 0}}),
    );
}

#[test]
fn the_server_s_limit_of_streams_is_kept() {
    // The h2 crate refuses streams above it.
    let server = serve(
        Builder::new().max_concurrent_streams(3).clone(),
        0,
        two_bytes,
    );
    assert_all_right(&server, json!({}));
}

#[test]
fn large_bodies_are_whole() {
    const SIZE: usize = 1_000_000;
    let server = serve(Builder::new(), 0, |_, mut respond, _| {
        Box::pin(async move {
            let mut body = respond.send_response(Response::new(()), false)?;
            body.send_data(vec![b'x'; SIZE].into(), false)?;
            let mut trailers = HeaderMap::new();
            trailers.insert("x-sum", "none".parse().expect("a value"));
            body.send_trailers(trailers)
        })
    });
    let digest = Sha256::digest(vec![b'x'; SIZE]);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let expect = json!({"body_length": SIZE, "body_sha256": hex});
    assert_all_right(
        &server,
        json!({"depth": 3, "connections": 2, "expect": expect}),
    );
}

#[test]
fn request_bodies_keep_to_small_windows() {
    let small = Builder::new().initial_window_size(1_000).clone();
    let server = serve(small, 0, |request, mut respond, _| {
        Box::pin(async move {
            let mut body = request.into_body();
            let mut seen = 0;
            while let Some(piece) = body.data().await {
                let piece = piece?;
                seen += piece.iter().filter(|byte| **byte == b'y').count();
                body.flow_control().release_capacity(piece.len())?;
            }
            let status = if seen == 200_000 { 200 } else { 500 };
            let response = Response::builder().status(status).body(());
            respond.send_response(response.expect("a response"), true)?;
            Ok(())
        })
    });
    let body = "y".repeat(200_000);
    assert_all_right(&server, json!({"depth": 3, "method": "POST", "body": body}));
}

#[test]
fn a_graceful_goaway_costs_no_request() {
    let server = serve(Builder::new(), 20, two_bytes);
    assert_all_right(&server, json!({"connections": 2}));
    assert!(server.accepted.load(SeqCst) > 2);
}

#[test]
fn resets_fail_their_request_alone() {
    let server = serve(Builder::new(), 0, |request, mut respond, number| {
        if number % 2 == 0 {
            return two_bytes(request, respond, number);
        }
        respond.send_reset(Reason::INTERNAL_ERROR);
        Box::pin(async { Ok(()) })
    });
    let result = run(server.address, &h2(json!({})));
    assert!(count(&result, "load.completed") > 0, "{result}");
    assert!(count(&result, "errors.read") > 0, "{result}");
    assert_eq!(
        count(&result, "total.errors.read"),
        errors(&result),
        "{result}"
    );
    assert_eq!(server.accepted.load(SeqCst), 4);
    assert_adds_up(&result);
}

#[test]
fn a_connection_carries_as_many_streams_as_it_may() {
    let server = serve(Builder::new(), 0, two_bytes);
    let changes = json!({"requests": 30, "warmup_s": 0, "duration_s": 600, "connections": 2,
                         "requests_per_connection": 5});
    let result = assert_all_right(&server, changes);
    assert_eq!(count(&result, "total.requests"), 30);
    assert!((6..=8).contains(&server.accepted.load(SeqCst)));
}

#[test]
fn requests_of_a_mix_have_their_own_bodies_and_oracles() {
    // The status says how long the body was; a small window makes bodies wait for each other.
    let small = Builder::new().initial_window_size(1_000).clone();
    let server = serve(small, 0, |request, mut respond, _| {
        Box::pin(async move {
            let bodiless = request.method() == http::Method::HEAD;
            let mut body = request.into_body();
            let mut length = 0;
            while let Some(piece) = body.data().await {
                let piece = piece?;
                length += piece.len();
                body.flow_control().release_capacity(piece.len())?;
            }
            let response = Response::builder().status(200 + length as u16 / 1000);
            let response = response.header("content-length", "4").body(());
            let mut body = respond.send_response(response.expect("a response"), bodiless)?;
            if bodiless {
                return Ok(());
            }
            body.send_data("four".into(), true)
        })
    });
    let mix = json!([
        {"url": "/none", "method": "HEAD", "expect": {"body_length": 0}},
        {"url": "/3", "body": {"size": 3000}, "expect": {"status": [203], "body_length": 4}},
        {"url": "/9", "body": {"size": 9000}, "expect": {"status": [209]}},
        {"url": "/wrong", "expect": {"body_length": 5}},
    ]);
    let changes = json!({"mix": mix, "mix_order": "turns", "method": "POST", "requests": 400,
                         "warmup_s": 0, "duration_s": 600, "depth": 7});
    let result = run(server.address, &h2(changes));
    assert_eq!(count(&result, "errors.body"), 100, "{result}");
    assert_eq!(errors(&result), 100, "{result}");
    assert_eq!(count(&result, "total.statuses.203"), 100);
    assert_eq!(count(&result, "total.statuses.209"), 100);
}

/// One message in gRPC's frame.
fn message(bytes: &[u8]) -> Vec<u8> {
    [&[0][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

/// A call's answer: these messages' frames, and this `grpc-status` behind them.
async fn call(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    frames: fn(Vec<u8>) -> Vec<Vec<u8>>,
    code: &'static str,
) -> Result<(), h2::Error> {
    let (head, mut body) = request.into_parts();
    assert_eq!(
        (head.method.as_str(), head.uri.path()),
        ("POST", "/p.Service/Method")
    );
    assert_eq!(head.headers["content-type"], "application/grpc");
    assert_eq!(head.headers["te"], "trailers");
    let mut asked = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        asked.extend_from_slice(&piece);
        body.flow_control().release_capacity(piece.len())?;
    }
    let mut body = respond.send_response(Response::new(()), false)?;
    for frame in frames(asked) {
        body.send_data(frame.into(), false)?;
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", code.parse().expect("a value"));
    body.send_trailers(trailers)
}

fn grpc(server: &Server, changes: Value) -> Value {
    let mut spec = json!({"protocol": "grpc", "depth": 5, "body": "hello",
                          "url": format!("http://{}/p.Service/Method", server.address)});
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    run(server.address, &spec)
}

#[test]
fn calls_of_grpc_are_compared_by_their_messages() {
    // The first sends the message back, the second twice, cut in the middle of a prefix.
    let one = serve(Builder::new(), 0, |request, respond, _| {
        Box::pin(call(request, respond, |asked| vec![asked], "0"))
    });
    let stream = serve(Builder::new(), 0, |request, respond, _| {
        let twice = |asked: Vec<u8>| {
            let both = [&asked[..], &asked].concat();
            vec![both[..12].to_vec(), both[12..].to_vec()]
        };
        Box::pin(call(request, respond, twice, "0"))
    });
    for (server, text) in [(&one, "hello"), (&stream, "hellohello")] {
        let digest = Sha256::digest(text);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let expect = json!({"body_length": text.len(), "body_sha256": hex});
        let result = grpc(server, json!({"expect": expect}));
        assert_eq!(errors(&result), 0, "{result}");
        assert_adds_up(&result);
        assert!(count(&result, "load.completed") > 0);
        let result = grpc(server, json!({"expect": {"body_length": 7}}));
        assert_eq!(
            count(&result, "total.errors.body"),
            errors(&result),
            "{result}"
        );
        assert_eq!(count(&result, "load.completed"), 0);
    }
}

#[test]
fn a_call_that_fails_or_is_cut_is_an_error() {
    type Case = (Handler, &'static str, &'static str);
    let cases: [Case; 5] = [
        (
            |request, respond, _| Box::pin(call(request, respond, |asked| vec![asked], "5")),
            "status",
            "unexpected status",
        ),
        (
            |request, respond, _| {
                Box::pin(call(
                    request,
                    respond,
                    |_| vec![message(b"12345")[..7].to_vec()],
                    "0",
                ))
            },
            "read",
            "a message that is cut short",
        ),
        (
            |request, respond, _| {
                Box::pin(call(request, respond, |_| vec![vec![1, 0, 0, 0, 0]], "0"))
            },
            "read",
            "a compressed message, which was not asked for",
        ),
        (
            |request, respond, _| Box::pin(call(request, respond, |_| vec![], "no number")),
            "read",
            "an unknown grpc-status",
        ),
        (two_bytes, "read", "a message that is cut short"),
    ];
    for (handler, kind, why) in cases {
        let result = grpc(&serve(Builder::new(), 0, handler), json!({}));
        assert_eq!(count(&result, "load.completed"), 0, "{result}");
        let failed = count(&result, &format!("total.errors.{kind}"));
        assert!(failed > 0 && failed == errors(&result), "{result}");
        assert_eq!(result["total"]["reasons"][0]["why"], why, "{result}");
    }
    // An answer of headers alone: the method is unknown.
    let unknown = serve(Builder::new(), 0, |_, mut respond, _| {
        Box::pin(async move {
            let response = Response::builder().header("grpc-status", "12").body(());
            respond.send_response(response.expect("a response"), true)?;
            Ok(())
        })
    });
    let result = grpc(&unknown, json!({}));
    assert_eq!(
        count(&result, "total.errors.status"),
        errors(&result),
        "{result}"
    );
    assert!(count(&result, "total.statuses.12") > 0, "{result}");
}
