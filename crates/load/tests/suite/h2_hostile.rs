//! HTTP/2 servers that answer wrongly or not at all: each a counted error.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::common::h2::{answer, block, data, frame, goaway, headers, number, settings};
use crate::common::{assert_adds_up, count, errors, run};
use serde_json::{Value, json};
use tare_load::h2::frame::{flag, kind};

/// A server that calls `handler` for each connection with its number, after the first request.
fn serve(
    handler: impl Fn(&mut TcpStream, usize) -> io::Result<()> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let handler = std::sync::Arc::new(handler);
    thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            let handler = handler.clone();
            // A client that has gone is no error of the server.
            thread::spawn(move || {
                let mut piece = [0; 4096];
                let _ = stream.read(&mut piece)?;
                handler(&mut stream, number)?;
                stream.shutdown(Shutdown::Write)?;
                while stream.read(&mut piece)? > 0 {}
                Ok::<(), io::Error>(())
            });
        }
    });
    address
}

/// Asserts that a run has no success and only failures of `kind`.
fn assert_fails(address: SocketAddr, kind: &str, timeout_s: f64) -> Value {
    let spec = json!({"protocol": "h2", "depth": 3, "timeout_s": timeout_s});
    let result = run(address, &spec);
    assert_eq!(count(&result, "load.completed"), 0, "{result}");
    let failed = count(&result, &format!("total.errors.{kind}"));
    assert!(failed > 0, "{result}");
    assert_eq!(failed, errors(&result), "{result}");
    assert_adds_up(&result);
    result
}

#[test]
fn wrong_frames_are_read_errors() {
    let ok = [(":status", "200")];
    let hello = settings(&[]);
    for bytes in [
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec(),
        b"\0\x01\x02garbage that goes on".to_vec(),
        answer(1, b"no settings"),
        [&hello[..], &frame(kind::DATA, 0, 1, &[0; 16_385])].concat(),
        [&hello[..], &[0xff; 9]].concat(),
        [hello.clone(), headers(0, true, &ok)].concat(),
        [hello.clone(), headers(2, true, &ok)].concat(),
        [hello.clone(), headers(99, true, &ok)].concat(),
        [hello.clone(), data(1, true, b"no header")].concat(),
        [
            hello.clone(),
            headers(1, false, &[ok[0], ("content-length", "9")]),
            data(1, true, b"ok"),
        ]
        .concat(),
        [
            hello.clone(),
            frame(kind::HEADERS, flag::END_HEADERS, 1, &[0xff, 0xff]),
        ]
        .concat(),
        [
            hello.clone(),
            frame(kind::HEADERS, flag::END_HEADERS, 1, &[0xbe]),
        ]
        .concat(),
        [
            hello.clone(),
            frame(kind::CONTINUATION, flag::END_HEADERS, 1, &block(&ok)),
        ]
        .concat(),
        [
            hello.clone(),
            frame(
                kind::PUSH_PROMISE,
                flag::END_HEADERS,
                1,
                &[0, 0, 0, 2, 0x82],
            ),
        ]
        .concat(),
        [hello.clone(), number(kind::WINDOW_UPDATE, 0, 0x7fff_ffff)].concat(),
        [hello.clone(), number(kind::WINDOW_UPDATE, 1, 0)].concat(),
        [hello.clone(), goaway(0, 2)].concat(),
        [hello.clone(), goaway(0, 0)].concat(),
        [hello.clone(), number(kind::RST_STREAM, 1, 2)].concat(),
        hello.clone(),
        Vec::new(),
    ] {
        let address = serve(move |stream, _| stream.write_all(&bytes));
        assert_fails(address, "read", 20.0);
    }
}

#[test]
fn answers_cut_anywhere_are_read_errors() {
    let head = headers(1, false, &[(":status", "200"), ("content-length", "5")]);
    let bytes = [
        settings(&[(3, 100)]),
        head,
        data(1, false, b"he"),
        data(1, true, b"llo"),
    ]
    .concat();
    let address = serve(move |stream, number| stream.write_all(&bytes[..number % bytes.len()]));
    assert_fails(address, "read", 20.0);
}

#[test]
fn endless_frames_are_read_errors() {
    let fragment = frame(kind::HEADERS, 0, 1, &block(&[(":status", "200")]));
    let filled = frame(kind::CONTINUATION, 0, 1, &[0x82; 1_000]);
    let open = headers(1, false, &[(":status", "200")]);
    for (once, again) in [
        (vec![], settings(&[(4, 65_535)])),
        (vec![], frame(kind::PING, 0, 0, b"12345678")),
        (vec![], frame(0xfa, 0, 0, b"unknown")),
        (vec![], frame(kind::SETTINGS, flag::ACK, 0, b"")),
        (vec![], headers(1, false, &[(":status", "100")])),
        (vec![], goaway(1, 0)),
        (fragment.clone(), frame(kind::CONTINUATION, 0, 1, b"")),
        (fragment.clone(), filled),
        (open.clone(), data(1, false, b"")),
        (open.clone(), frame(kind::DATA, flag::PADDED, 1, &[9; 10])),
        (open, number(kind::WINDOW_UPDATE, 0, 1)),
    ] {
        let address = serve(move |stream, _| {
            stream.write_all(&[settings(&[]), once.clone()].concat())?;
            // What the client acknowledges is never read.
            let many = again.repeat(100);
            loop {
                stream.write_all(&many)?;
            }
        });
        assert_fails(address, "read", 20.0);
    }
}

#[test]
fn floods_of_resets_are_errors_of_their_requests() {
    let address = serve(|stream, _| {
        stream.write_all(&settings(&[]))?;
        for stream_id in (1..).step_by(2) {
            stream.write_all(&number(kind::RST_STREAM, stream_id, 7))?;
        }
        Ok(())
    });
    // A connection that fails while nothing is in flight on it is counted, too.
    let result = run(address, &json!({"protocol": "h2", "depth": 3}));
    assert_eq!(count(&result, "total.requests"), 0, "{result}");
    assert!(count(&result, "total.errors.read") > 0, "{result}");
    assert_eq!(
        count(&result, "total.errors.read"),
        errors(&result),
        "{result}"
    );
}

#[test]
fn silent_servers_are_timeouts() {
    let block = |stream: &mut TcpStream, _| {
        stream.write_all(&settings(&[]))?;
        while stream.read(&mut [0; 4096])? > 0 {}
        Ok(())
    };
    assert_fails(serve(block), "timeout", 0.15);
    let endless_body = |stream: &mut TcpStream, _| {
        stream.write_all(&[settings(&[]), headers(1, false, &[(":status", "200")])].concat())?;
        loop {
            stream.write_all(&data(1, false, &[b'x'; 16_384]))?;
        }
    };
    let spec = json!({"protocol": "h2", "depth": 3, "timeout_s": 0.15});
    let result = run(serve(endless_body), &spec);
    assert_eq!(count(&result, "load.completed"), 0, "{result}");
    assert!(count(&result, "total.errors.timeout") > 0, "{result}");
    // What still comes of a stream that was given up is a flood in the end.
    let flooded = count(&result, "total.errors.read");
    let late = count(&result, "total.errors.timeout");
    assert_eq!(late + flooded, errors(&result), "{result}");
}

#[test]
fn what_was_to_be_said_at_the_end_does_not_reach_the_next_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let begins = thread::spawn(move || {
        let mut begins = Vec::new();
        for stream in listener.incoming().flatten().take(3) {
            let mut stream: TcpStream = stream;
            let mut piece = [0; 4096];
            let read = stream.read(&mut piece).expect("a preface");
            begins.push(piece[..read.min(14)].to_vec());
            // Settings that are to be acknowledged come together with the whole answer.
            let hello = [settings(&[]), answer(1, b"ok")].concat();
            stream.write_all(&hello).expect("a client");
            while stream.read(&mut piece).expect("its end") > 0 {}
        }
        begins
    });
    let spec = json!({"protocol": "h2", "connections": 1, "requests": 3, "warmup_s": 0,
                      "duration_s": 600, "requests_per_connection": 1});
    let result = run(address, &spec);
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!(
        begins.join().expect("three connections"),
        [b"PRI * HTTP/2.0"; 3]
    );
}
