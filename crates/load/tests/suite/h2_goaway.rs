//! GOAWAY without an error: what the server says it has not seen is sent again.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use crate::common::h2::{answer, any_frame, goaway, preface, settings};
use crate::common::{assert_adds_up, bare, count, errors, run};
use serde_json::json;
use tare_load::h2::frame::kind;

const PREFACE: usize = 24;

/// A server that answers the first `answered` requests of a connection, and then says GOAWAY.
fn server(answered: u32) -> SocketAddr {
    bare::tcp("127.0.0.1", move |mut stream: TcpStream| {
        preface(&mut stream)?;
        stream.write_all(&settings(&[]))?;
        let last = (2 * answered).saturating_sub(1);
        loop {
            let header = any_frame(&mut stream)?;
            if header.kind != kind::HEADERS {
                continue;
            }
            if header.stream <= last {
                stream.write_all(&answer(header.stream, b"ok"))?;
            }
            if header.stream == last.max(1) {
                stream.write_all(&goaway(last, 0))?;
            }
        }
    })
}

#[test]
fn what_the_server_has_not_seen_is_sent_again() {
    for (connections, pace) in [
        (2, json!({"kind": "closed"})),
        (1, json!({"kind": "closed", "limit": 1e6})),
        (2, json!({"kind": "open", "rate": 5000})),
    ] {
        let changes = json!({"protocol": "h2", "depth": 10, "connections": connections, "loop": pace,
                             "requests": 200, "warmup_s": 0, "duration_s": 600});
        let result = run(server(5), &changes);
        assert_eq!(errors(&result), 0, "{result}");
        assert_eq!(count(&result, "total.requests"), 200, "{result}");
        assert_eq!(count(&result, "load.completed"), 200, "{result}");
        assert_adds_up(&result);
    }
}

#[test]
fn it_is_an_error_when_no_connection_takes_it() {
    let changes = json!({"protocol": "h2", "depth": 5, "connections": 1, "requests": 5,
                         "warmup_s": 0, "duration_s": 600});
    let result = run(server(0), &changes);
    assert_eq!(count(&result, "total.errors.read"), 5, "{result}");
    assert_eq!(errors(&result), 5, "{result}");
    assert_eq!(
        result["total"]["reasons"][0]["why"],
        "refused by the server's GOAWAY"
    );
    assert_adds_up(&result);
}

#[test]
fn a_connection_says_nothing_of_the_one_before_it() {
    let firsts = Arc::new(Mutex::new(Vec::new()));
    let heard = firsts.clone();
    let address = bare::tcp("127.0.0.1", move |mut stream| {
        let mut first = [0; PREFACE];
        stream.read_exact(&mut first)?;
        heard.lock().expect("no panic").push(first);
        // It takes no more requests, and never answers the first.
        stream.write_all(&[settings(&[]), goaway(1, 0)].concat())?;
        while stream.read(&mut [0; 4096])? > 0 {}
        Ok(())
    });
    let changes = json!({"protocol": "h2", "connections": 1, "requests": 3, "timeout_s": 0.2,
                         "connect_timeout_s": 20, "warmup_s": 0, "duration_s": 600});
    let result = run(address, &changes);
    assert_eq!(count(&result, "total.errors.timeout"), 3, "{result}");
    assert_eq!(errors(&result), 3, "{result}");
    for first in &*firsts.lock().expect("no panic") {
        let text = first.escape_ascii();
        assert_eq!(first, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "{text}");
    }
}
