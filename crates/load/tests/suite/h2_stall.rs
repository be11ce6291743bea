//! A stall of an HTTP/2 server, as requests and calls of gRPC see it.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::h2::{answer, data, headers, preface, settings, whole_request};
use crate::common::{assert_adds_up, bare, count, errors, run};
use serde_json::json;

const STALL: Duration = Duration::from_secs(1);

/// The answer to a call: one empty message, and its status.
fn call(stream: u32) -> Vec<u8> {
    let head = [(":status", "200"), ("content-type", "application/grpc")];
    [
        headers(stream, false, &head),
        data(stream, false, &[0; 5]),
        headers(stream, true, &[("grpc-status", "0")]),
    ]
    .concat()
}

/// Answer each request of a connection, but none from half a second after the first until a second
/// later.
fn serve(mut stream: TcpStream, answer: fn(u32) -> Vec<u8>) -> std::io::Result<()> {
    preface(&mut stream)?;
    stream.write_all(&settings(&[]))?;
    let mut began = None;
    loop {
        let asked = whole_request(&mut stream)?;
        let age = began.get_or_insert_with(Instant::now).elapsed();
        if let Some(within) = age.checked_sub(STALL / 2) {
            thread::sleep(STALL.saturating_sub(within));
        }
        stream.write_all(&answer(asked))?;
    }
}

#[test]
fn a_stall_is_seen_by_all_who_waited() {
    type Case = (&'static str, fn(u32) -> Vec<u8>);
    let cases: [Case; 2] = [("h2", |stream| answer(stream, b"ok")), ("grpc", call)];
    for (protocol, answer) in cases {
        let address = bare::tcp("127.0.0.1", move |stream| serve(stream, answer));
        let result = run(
            address,
            &json!({"url": format!("http://{address}/p.Service/Method"), "protocol": protocol,
                    "connections": 1, "depth": 6, "timeout_s": 60, "warmup_s": 0,
                    "duration_s": 2, "loop": {"kind": "open", "rate": 500, "arrivals": "even"}}),
        );
        assert_eq!(errors(&result), 0, "{result}");
        assert_adds_up(&result);
        assert_eq!(count(&result, "load.offered"), 1000, "{protocol}");
        assert_eq!(count(&result, "load.completed"), 1000, "{protocol}");
        // 500 of 1000 requests are due in the stall, and wait for half of it on average.
        for (outcome, at_least) in [("max", 950_000), ("p99", 850_000), ("mean", 200_000)] {
            let found = count(&result, &format!("outcomes.latency_{outcome}_us"));
            assert!(found >= at_least, "{protocol}: {outcome}: {found}");
        }
    }
}
