//! Echo and length-delimited calls, over TCP and Unix sockets.

use crate::common;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

use crate::common::{assert_adds_up, bare, count, errors};
use serde_json::{Value, json};

const ECHO: &str = "echo";

fn assert_echoes(url: &str, changes: &Value) -> Value {
    let result = bare::run(url, changes);
    assert_eq!(errors(&result), 0, "{result}");
    assert!(count(&result, "load.completed") > 0, "{result}");
    assert_adds_up(&result);
    result
}

#[test]
fn what_is_sent_comes_back() {
    let four = bare::tcp("127.0.0.1", |mut stream| bare::echo(&mut stream));
    let six = bare::tcp("::1", |mut stream| bare::echo(&mut stream));
    let socket = bare::unix("echo", |stream| bare::echo(stream));
    for url in [
        format!("tcp://{four}"),
        format!("tcp://{six}"),
        format!("unix:{}", socket.0.display()),
    ] {
        for (size, depth) in [(1, 1), (64, 8), (100_000, 2)] {
            let body = json!({"size": size});
            assert_echoes(
                &url,
                &json!({"protocol": ECHO, "body": body, "depth": depth}),
            );
        }
    }
}

#[test]
fn a_changed_byte_is_a_wrong_body() {
    let address = bare::tcp("127.0.0.1", |mut stream| {
        let mut message = [0; 64];
        for number in 0u64.. {
            stream.read_exact(&mut message)?;
            message[63] ^= u8::from(number == 5);
            stream.write_all(&message)?;
        }
        Ok(())
    });
    let result = bare::run(&format!("tcp://{address}"), &json!({"protocol": ECHO}));
    let wrong = count(&result, "total.errors.body");
    assert!(wrong > 0 && wrong == errors(&result), "{result}");
    assert_eq!(result["total"]["reasons"][0]["kind"], "body");
    assert_adds_up(&result);
}

#[test]
fn bytes_too_many_or_too_few_are_errors() {
    let url = |extra: &'static [u8], missing: usize| {
        let address = bare::tcp("127.0.0.1", move |mut stream| {
            let mut message = [0; 64];
            stream.read_exact(&mut message)?;
            stream.write_all(&message[missing..])?;
            stream.write_all(extra)
        });
        format!("tcp://{address}")
    };
    let echo = json!({"protocol": ECHO});
    let result = bare::run(&url(b"more", 0), &echo);
    assert!(count(&result, "total.errors.body") + count(&result, "total.errors.read") > 0);
    let result = bare::run(&url(b"", 64), &echo);
    assert_eq!(count(&result, "load.completed"), 0, "{result}");
    assert!(count(&result, "total.errors.read") > 0, "{result}");
}

#[test]
fn rounds_are_exact_over_threads_and_connections() {
    let seen = Arc::new(AtomicU64::new(0));
    let total = seen.clone();
    let address = bare::tcp("127.0.0.1", move |mut stream| {
        let mut message = [0; 64];
        loop {
            stream.read_exact(&mut message)?;
            total.fetch_add(1, SeqCst);
            stream.write_all(&message)?;
        }
    });
    let fixed = json!({
        "protocol": ECHO, "requests": 1001, "warmup_s": 0, "duration_s": 600, "connections": 7, "threads": 2,
    });
    let result = assert_echoes(&format!("tcp://{address}"), &fixed);
    assert_eq!(count(&result, "load.completed"), 1001);
    assert_eq!(seen.load(SeqCst), 1001);
    let open = json!({"kind": "open", "rate": 100_000});
    let fixed = json!({
        "protocol": ECHO, "requests": 500, "warmup_s": 0, "duration_s": 600, "loop": open,
    });
    let result = assert_echoes(&format!("tcp://{address}"), &fixed);
    assert_eq!(count(&result, "load.completed"), 500);
    assert_eq!(seen.load(SeqCst), 1501);
}

#[test]
fn a_thread_without_a_share_of_the_rounds_is_not_waited_for() {
    let address = bare::tcp("127.0.0.1", |mut stream| bare::echo(&mut stream));
    let few = json!({
        "protocol": ECHO, "requests": 1, "warmup_s": 0, "duration_s": 600, "threads": 2,
    });
    let result = assert_echoes(&format!("tcp://{address}"), &few);
    assert_eq!(count(&result, "load.completed"), 1);
}

#[test]
fn rounds_end_when_there_is_no_server() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let many = json!({
        "protocol": ECHO, "requests": 1000, "warmup_s": 0, "duration_s": 3000, "threads": 2,
    });
    let result = bare::run(&format!("tcp://{address}"), &many);
    assert_eq!(count(&result, "load.completed"), 0);
    assert!(count(&result, "total.errors.connect") > 50);
}

#[test]
fn serial_means_one_at_a_time_in_turn() {
    let (now, most) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let counts = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (in_flight, highest, each) = (now, most.clone(), counts.clone());
    let address = bare::tcp("127.0.0.1", move |mut stream| {
        let mut message = [0; 64];
        let mut own = 0u64;
        while stream.read_exact(&mut message).is_ok() {
            let there = in_flight.fetch_add(1, SeqCst) + 1;
            highest.fetch_max(there, SeqCst);
            own += 1;
            in_flight.fetch_sub(1, SeqCst);
            stream.write_all(&message)?;
        }
        each.lock().expect("no panic").push(own);
        Ok(())
    });
    let serial = json!({"protocol": ECHO, "loop": {"kind": "serial"}, "requests": 600, "duration_s": 600, "warmup_s": 0});
    let result = assert_echoes(&format!("tcp://{address}"), &serial);
    assert_eq!(most.load(SeqCst), 1);
    assert!(result["load"]["in_flight_mean"].as_f64().expect("a number") <= 1.0);
    // All four connections take turns from when the last of them is made.
    while counts.lock().expect("no panic").len() < 4 {
        std::thread::yield_now();
    }
    let counts = counts.lock().expect("no panic");
    assert!(counts.iter().all(|own| *own > 100), "{counts:?}");
}

#[test]
fn a_limit_is_kept() {
    let address = bare::tcp("127.0.0.1", |mut stream| bare::echo(&mut stream));
    let limited = json!({"protocol": ECHO, "loop": {"kind": "closed", "limit": 500}, "threads": 2, "duration_s": 1.0});
    let result = assert_echoes(&format!("tcp://{address}"), &limited);
    // A thread may make up for a millisecond that it woke up late, and the window cuts one gap.
    assert!(count(&result, "load.completed") <= 504, "{result}");
}

/// Answers each call with a message of so many bytes.
fn answer(stream: &mut dyn bare::Both, length: usize) -> std::io::Result<()> {
    let mut head = [0; 1];
    loop {
        stream.read_exact(&mut head)?;
        let mut message = vec![0; usize::from(head[0])];
        stream.read_exact(&mut message)?;
        assert_eq!(message, b"call");
        let mut delimited = Vec::new();
        tare_load::proto::varint::write(length as u64, &mut delimited);
        delimited.resize(delimited.len() + length, b'a');
        stream.write_all(&delimited)?;
    }
}

#[test]
fn calls_are_delimited_and_judged() {
    for length in [0usize, 5, 300, 200_000] {
        let name = format!("proto-{length}");
        let socket = bare::unix(&name, move |stream| answer(stream, length));
        let url = format!("unix:{}", socket.0.display());
        let call = |length: usize| json!({"protocol": "proto", "body": "call", "depth": 3, "expect": {"body_length": length}});
        assert_echoes(&url, &call(length));
        let result = bare::run(&url, &call(length + 1));
        assert_eq!(count(&result, "load.completed"), 0);
        assert_eq!(count(&result, "total.errors.body"), errors(&result));
    }
}

#[test]
fn pipelined_requests_are_in_flight_together() {
    let address = bare::tcp("127.0.0.1", |mut stream| {
        let (mut asked, mut piece) = (Vec::new(), [0; 4096]);
        let body = "x".repeat(9000);
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n{body}");
        loop {
            // Answers nothing before four requests are there, and then all four.
            while asked.windows(4).filter(|end| end == b"\r\n\r\n").count() < 4 {
                let length = stream.read(&mut piece)?;
                if length == 0 {
                    return Ok(());
                }
                asked.extend_from_slice(&piece[..length]);
            }
            asked.clear();
            stream.write_all(answer.repeat(4).as_bytes())?;
        }
    });
    // As many rounds of four as fit into the number: the end of a run leaves none half asked.
    let pipelined = json!({
        "protocol": "h1", "depth": 4, "requests": 4000, "warmup_s": 0, "duration_s": 600,
        "connections": 1, "expect": {"body_length": 9000},
    });
    let result = assert_echoes(&format!("http://{address}/"), &pipelined);
    assert_eq!(count(&result, "load.completed"), 4000);
    assert!(result["load"]["in_flight_mean"].as_f64().expect("a number") > 3.0);
}

#[test]
fn http_goes_over_unix_sockets() {
    let socket = bare::unix("http", |stream| {
        let mut piece = [0; 4096];
        loop {
            let length = stream.read(&mut piece)?;
            if !piece[..length].starts_with(b"GET /path?q HTTP/1.1\r\nHost: localhost\r\n") {
                return Ok(());
            }
            stream.write_all(common::OK)?;
        }
    });
    let url = format!("http://unix:{}:/path?q", socket.0.display());
    assert_echoes(&url, &json!({}));
}
