//! WebSocket against tungstenite's server, and against servers that break its rules.

use crate::common;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use crate::common::{assert_adds_up, bare, count, errors};
use base64::Engine as _;
use serde_json::{Value, json};
use tungstenite::{Bytes, Message, WebSocket};

/// What becomes of a message.
type Handler = fn(&mut WebSocket<TcpStream>, Bytes, u64) -> tungstenite::Result<()>;

/// A server that calls `handler` with each binary message and its number on its connection.
fn serve(handler: Handler) -> SocketAddr {
    bare::tcp("127.0.0.1", move |stream| {
        let mut socket = tungstenite::accept(stream).map_err(std::io::Error::other)?;
        for number in 0.. {
            match socket.read() {
                Ok(Message::Binary(bytes)) => {
                    handler(&mut socket, bytes, number).map_err(std::io::Error::other)?;
                }
                // Pongs that nobody asked for would be an error of ours.
                Ok(Message::Pong(payload)) => assert_eq!(&payload[..], b"ping"),
                Ok(Message::Close(_)) | Err(_) => break,
                Ok(other) => panic!("{other:?}"),
            }
        }
        Ok(())
    })
}

fn run(address: SocketAddr, changes: &Value) -> Value {
    let mut spec = json!({"protocol": "ws"});
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    bare::run(&format!("ws://{address}/chat?x"), &spec)
}

fn echo(socket: &mut WebSocket<TcpStream>, bytes: Bytes, _: u64) -> tungstenite::Result<()> {
    socket.send(Message::Binary(bytes))
}

#[test]
fn messages_of_all_lengths_come_back() {
    let address = serve(echo);
    for (size, depth, threads) in [
        (1, 1, 1),
        (125, 3, 2),
        (126, 1, 1),
        (65_535, 2, 1),
        (65_536, 1, 2),
    ] {
        let changes = json!({"body": {"size": size}, "depth": depth, "threads": threads});
        let result = run(address, &changes);
        assert_eq!(errors(&result), 0, "{result}");
        assert_adds_up(&result);
        assert!(count(&result, "load.completed") > 0);
    }
    let changes = json!({"requests": 30, "warmup_s": 0, "duration_s": 600, "connections": 2,
                         "requests_per_connection": 5});
    let result = run(address, &changes);
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!(count(&result, "total.requests"), 30);
}

#[test]
fn pings_are_answered_amid_messages() {
    let address = serve(|socket, bytes, number| {
        if number % 3 == 0 {
            socket.send(Message::Ping(Bytes::from_static(b"ping")))?;
        }
        echo(socket, bytes, number)
    });
    let result = run(address, &json!({"depth": 2}));
    assert_eq!(errors(&result), 0, "{result}");
    assert!(count(&result, "load.completed") > 0);
}

#[test]
fn an_echo_that_differs_is_an_error_of_the_body() {
    for handler in [
        (|socket, bytes, _| {
            let mut other = bytes.to_vec();
            other[7] ^= 1;
            socket.send(Message::Binary(other.into()))
        }) as Handler,
        |socket, bytes, _| socket.send(Message::Binary(bytes.slice(1..))),
        |socket, bytes, _| socket.send(Message::Binary([&bytes[..], b"x"].concat().into())),
        |socket, _, _| socket.send(Message::Text("x".repeat(64).into())),
    ] {
        let result = run(
            serve(handler),
            &json!({"connections": 1, "duration_s": 0.2}),
        );
        assert_eq!(count(&result, "load.completed"), 0, "{result}");
        let failed = count(&result, "total.errors.body");
        assert!(failed > 0 && failed == errors(&result), "{result}");
    }
}

#[test]
fn a_close_amid_messages_is_an_error_and_between_them_is_none() {
    let closing = serve(|socket, _, _| socket.close(None));
    let result = run(closing, &json!({"connections": 1, "duration_s": 0.2}));
    assert_eq!(count(&result, "load.completed"), 0, "{result}");
    assert!(count(&result, "total.errors.read") > 0, "{result}");
    let polite = serve(|socket, bytes, number| {
        echo(socket, bytes, number)?;
        match number {
            9 => socket.close(None),
            _ => Ok(()),
        }
    });
    // A request that meets the close is lost, as over any connection.
    let result = run(
        polite,
        &json!({"connections": 1, "think": {"kind": "fixed", "s": 0.005}}),
    );
    assert!(count(&result, "load.completed") > 0, "{result}");
}

/// A server that switches as it should, and then says `bytes` for each piece of the client's.
fn saying(bytes: &'static [u8]) -> SocketAddr {
    bare::tcp("127.0.0.1", move |mut stream| {
        let (mut head, mut piece) = (Vec::new(), [0; 4096]);
        while !head.ends_with(b"\r\n\r\n") {
            let length = stream.read(&mut piece)?;
            if length == 0 {
                return Ok(());
            }
            head.extend_from_slice(&piece[..length]);
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        let key = text
            .lines()
            .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
        let both = format!(
            "{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
            key.expect("a key")
        );
        let proof = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, both.as_bytes());
        let proof = base64::engine::general_purpose::STANDARD.encode(proof);
        write!(
            stream,
            "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {proof}\r\n\r\n"
        )?;
        while stream.read(&mut piece)? > 0 {
            stream.write_all(bytes)?;
        }
        Ok(())
    })
}

#[test]
fn frames_that_break_the_rules_break_the_connection() {
    for (bytes, kind) in [
        (&[0x82, 0x80, 0, 0, 0, 0][..], "read"),
        (&[0xc2, 1, 0], "read"),
        (&[0x80, 0], "read"),
        (&[0x02, 0, 0x82, 0], "read"),
        (&[0x82, 0], "body"),
        (&[0x89, 126, 0, 200], "read"),
        (&[0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255], "read"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "read"),
    ] {
        let result = run(
            saying(bytes),
            &json!({"connections": 1, "duration_s": 0.15}),
        );
        assert_eq!(count(&result, "load.completed"), 0, "{result}");
        let failed = count(&result, &format!("total.errors.{kind}"));
        assert!(
            failed > 0 && failed == errors(&result),
            "{bytes:?}: {result}"
        );
        // Each broke with bytes that came for a request.
        assert_eq!(count(&result, "total.lost_new"), 0, "{bytes:?}: {result}");
    }
    // Half a frame that never ends.
    let result = run(
        saying(&[0x82]),
        &json!({"timeout_s": 0.1, "duration_s": 0.15}),
    );
    assert_eq!(count(&result, "load.completed"), 0, "{result}");
    assert!(errors(&result) > 0, "{result}");
}

#[test]
fn a_server_without_websocket_is_a_connect_error() {
    let plain = common::Server::always(common::OK, || common::Then::Keep);
    let result = run(plain.address, &json!({}));
    assert_eq!(count(&result, "load.completed"), 0, "{result}");
    assert_eq!(
        count(&result, "total.errors.connect"),
        errors(&result),
        "{result}"
    );
    let why = &result["total"]["reasons"][0]["why"];
    assert_eq!(why, "the server does not switch to WebSocket");
}

#[test]
fn the_program_takes_its_urls() {
    let url = format!("ws://{}/", serve(echo));
    let output = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .args([url.as_str(), "-c", "2", "-r", "50", "-s", "300", "--json"])
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&result["protocol"], count(&result, "total.requests")),
        (&json!("ws"), 50)
    );
}
