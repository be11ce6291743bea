//! Servers that answer wrongly or not at all: each a counted error.

use crate::common;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use crate::common::{Server, Silent, Then, assert_adds_up, bare, count, errors, run};
use serde_json::{Value, json};
use tare_load::report::conditions::Condition;
use tare_load::spec::Spec;

/// Asserts that a run has no success and only failures of `kind`.
fn assert_fails(address: SocketAddr, kind: &str, changes: &Value) {
    let result = run(address, changes);
    assert_eq!(count(&result, "load.completed"), 0, "{result}");
    assert!(
        count(&result, &format!("total.errors.{kind}")) > 0,
        "{result}"
    );
    assert_eq!(
        count(&result, &format!("total.errors.{kind}")),
        errors(&result),
        "{result}"
    );
    assert_adds_up(&result);
}

#[test]
fn malformed_answers_are_read_errors() {
    let endless = "HTTP/1.1 200 OK\r\n".to_string() + &"A: b\r\n".repeat(20_000);
    let body = "x".repeat(30_000);
    let too_short = format!("HTTP/1.1 200 OK\r\nContent-Length: 30001\r\n\r\n{body}");
    for answer in [
        &too_short,
        "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\ntoo short",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\ntoo long",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "\0\u{1}garbage\r\n\r\n",
        "",
        &endless,
    ] {
        let server = Server::always(answer, || Then::Close);
        assert_fails(server.address, "read", &json!({}));
    }
}

#[test]
fn heads_without_an_end_are_read_errors() {
    let server = Server::start(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            stream.write_all(b"A: b\r\n")?;
        }
    });
    assert_fails(server.address, "read", &json!({}));
}

#[test]
fn bytes_that_nobody_asked_for_are_no_answer() {
    // The second answer comes while the connection is idle, or belongs to no request.
    let twice = [common::OK, common::OK].concat();
    let server = Server::always(twice, || Then::Keep);
    assert_fails(server.address, "read", &json!({}));
}

#[test]
fn resets_are_errors() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    // Closing while the request lies unread resets the connection.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::sleep(Duration::from_millis(5));
            drop(stream);
        }
    });
    let result = run(address, &json!({}));
    assert_eq!(count(&result, "total.requests"), 0);
    assert!(count(&result, "total.errors.read") + count(&result, "total.errors.write") > 0);
}

#[test]
fn a_reset_or_an_end_after_any_byte_is_an_error() {
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let cut = Arc::new(AtomicUsize::new(0));
    let (next, reset) = (cut.clone(), AtomicBool::new(false));
    let address = bare::tcp("127.0.0.1", move |mut stream| {
        let mut request = [0; 1024];
        // What lies unread makes a close a reset.
        let unread = reset.fetch_xor(true, SeqCst);
        let length = stream.read(&mut request[..if unread { 1 } else { 1024 }])?;
        if length > 0 {
            stream.write_all(&answer[..next.fetch_add(1, SeqCst) % answer.len()])?;
        }
        Ok(())
    });
    while cut.load(SeqCst) < 2 * answer.len() {
        let result = run(
            address,
            &json!({"connections": 16, "warmup_s": 0, "duration_s": 0.2}),
        );
        assert_eq!(count(&result, "total.requests"), 0, "{result}");
        assert!(errors(&result) > 0);
    }
}

#[test]
fn a_request_without_a_byte_of_its_answer_is_lost_with_a_kept_or_a_new_connection() {
    let first_only = Server::start(|stream, number| {
        if number > 0 {
            return Ok(Then::Close);
        }
        stream.write_all(common::OK)?;
        Ok(Then::Keep)
    });
    let result = run(first_only.address, &json!({}));
    let failed = count(&result, "total.errors.read") + count(&result, "total.errors.write");
    assert!(
        count(&result, "total.requests") > 0 && failed > 0,
        "{result}"
    );
    assert_eq!(count(&result, "total.lost_kept"), failed, "{result}");
    assert_eq!(count(&result, "total.lost_new"), 0, "{result}");
    assert_adds_up(&result);

    let never = Server::start(|_, _| Ok(Then::Close));
    let result = run(never.address, &json!({}));
    assert_eq!(count(&result, "total.lost_kept"), 0, "{result}");
    assert_eq!(
        count(&result, "total.lost_new"),
        count(&result, "total.errors.read"),
        "{result}"
    );

    for answered in [
        "HTTP/1.1 200 OK\r\nContent-Le",
        "\0garbage",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\ntoo long",
    ] {
        let server = Server::always(answered, || Then::Close);
        let result = run(server.address, &json!({}));
        assert!(count(&result, "total.errors.read") > 0, "{result}");
        assert_eq!(
            count(&result, "total.lost_new"),
            0,
            "{answered:?}: {result}"
        );
    }
    let silent = Server::start(|_, _| Ok(Then::Keep));
    let result = run(silent.address, &json!({"timeout_s": 0.15}));
    assert!(count(&result, "total.errors.timeout") > 0, "{result}");
    assert_eq!(
        count(&result, "total.lost_new"),
        0,
        "given up here: {result}"
    );
}

#[test]
fn refused_connections_are_connect_errors() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let result = run(address, &json!({}));
    assert!(count(&result, "total.errors.connect") >= 4);
    assert_eq!(count(&result, "total.errors.connect"), errors(&result));
    assert_eq!(count(&result, "load.offered"), 0);
}

#[test]
fn slow_and_silent_servers_are_timeouts() {
    let silent = Server::start(|_, _| Ok(Then::Keep));
    let dripping = Server::start(|stream, _| -> io::Result<Then> {
        loop {
            stream.write_all(b"H")?;
            thread::sleep(Duration::from_secs(3600));
        }
    });
    let endless_body = Server::start(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        loop {
            stream.write_all(&[b'x'; 65536])?;
        }
    });
    for server in [silent, dripping, endless_body] {
        assert_fails(server.address, "timeout", &json!({"timeout_s": 0.15}));
    }
}

#[test]
fn bytes_that_differ_are_errors_and_no_answers() {
    let address = bare::tcp("127.0.0.1", |mut stream| {
        let mut message = [0; 64];
        loop {
            stream.read_exact(&mut message)?;
            message[9] ^= 1;
            stream.write_all(&message)?;
        }
    });
    let spec = json!({"url": format!("tcp://{address}"), "protocol": "echo", "connections": 1,
                      "requests": 5, "warmup_s": 0, "duration_s": 600});
    let spec = Spec::from_json(&spec.to_string()).expect("a spec");
    let report = tare_load::run::run(&spec, &mut Silent, &AtomicBool::new(false));
    let report = report.expect("a finished run");
    let condition: Condition = "errors<1%".parse().expect("a condition");
    let judged = condition.judge(&report);
    assert_eq!((judged.ok, judged.found), (false, Some(1.0)));
}
