//! The way to the server: other places than the URL's, and the header of a proxy.

use crate::common;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use crate::common::{OK, bare, count, errors};
use serde_json::json;
use tare_load::error::Error;

/// Answers requests that have this `Host`.
fn serve(host: &'static str) -> SocketAddr {
    bare::tcp("127.0.0.1", move |mut stream| {
        let mut piece = [0; 4096];
        loop {
            let length = stream.read(&mut piece)?;
            if length == 0 {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&piece[..length]).into_owned();
            assert!(text.contains(&format!("\r\nHost: {host}\r\n")), "{text}");
            stream.write_all(OK)?;
        }
    })
}

#[test]
fn a_url_s_place_may_be_elsewhere() {
    let there = serve("a.example:81").to_string();
    let url = "http://a.example:81/";
    let changes = json!({"connect_to": {"a.example:81": there}, "duration_s": 1.0});
    let result = bare::run(url, &changes);
    assert_eq!(errors(&result), 0, "{result}");
    assert!(count(&result, "load.completed") > 0);
    let output = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tare-load"))
            .args([url, "-r", "5", "-c", "1"])
            .args(arguments)
            .output();
        let output = output.expect("it starts");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, said) = output(&["--connect-to", &format!("a.example:81:{there}")]);
    assert_eq!(code, Some(0), "{said}");
    // The port stays, and nobody listens there.
    let (code, said) = output(&["--resolve", "a.example:81:127.0.0.1"]);
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = output(&["--resolve", "a.example:81:b.example"]);
    assert!(
        code == Some(2) && said.contains("is not an address"),
        "{said}"
    );
    let (code, said) = output(&["--connect-to", "a.example:81:b:0"]);
    assert!(
        code == Some(2) && said.contains("--connect-to: \"b:0\" is not a place"),
        "{said}"
    );
}

/// Reads until `length` bytes of `stream` are there.
fn exactly(stream: &mut TcpStream, length: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn each_connection_begins_with_the_header_of_a_proxy() {
    for version in [1, 2] {
        let address = bare::tcp("127.0.0.1", move |mut stream| {
            let (from, to) = (stream.peer_addr()?, stream.local_addr()?);
            let expected = match version {
                1 => {
                    let (a, b) = (from.port(), to.port());
                    format!("PROXY TCP4 127.0.0.1 127.0.0.1 {a} {b}\r\n").into_bytes()
                }
                _ => {
                    let start = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01";
                    let (a, b) = (from.port().to_be_bytes(), to.port().to_be_bytes());
                    [&start[..], &a, &b].concat()
                }
            };
            assert_eq!(exactly(&mut stream, expected.len())?, expected);
            let mut piece = [0; 4096];
            loop {
                let length = stream.read(&mut piece)?;
                if length == 0 {
                    return Ok(());
                }
                assert!(piece.starts_with(b"GET / HTTP/1.1\r\n"));
                stream.write_all(OK)?;
            }
        });
        let changes = json!({"proxy_protocol": version, "requests": 40, "warmup_s": 0,
                             "duration_s": 600, "requests_per_connection": 3});
        let result = bare::run(&format!("http://{address}/"), &changes);
        assert_eq!(errors(&result), 0, "{result}");
        assert_eq!(count(&result, "total.requests"), 40);
    }
    let spec = json!({"url": "https://127.0.0.1:1/", "protocol": "h3", "proxy_protocol": 1});
    let spec = tare_load::spec::Spec::from_json(&spec.to_string()).expect("a spec");
    let interrupt = std::sync::atomic::AtomicBool::new(false);
    let Err(Error::Usage(refused)) = tare_load::run::run(&spec, &mut common::Silent, &interrupt)
    else {
        panic!("no refusal");
    };
    let words = "proxy_protocol: QUIC has no PROXY header";
    assert!(refused.to_string().starts_with(words), "{refused}");
}

#[test]
fn a_unix_socket_s_addresses_are_unknown_to_a_proxy() {
    let socket = bare::unix("proxied", |stream| {
        let mut header = [0; 15];
        stream.read_exact(&mut header)?;
        assert_eq!(&header, b"PROXY UNKNOWN\r\n");
        bare::echo(stream)
    });
    let url = format!("unix:{}", socket.0.display());
    let result = bare::run(&url, &json!({"protocol": "echo", "proxy_protocol": 1}));
    assert_eq!(errors(&result), 0, "{result}");
    assert!(count(&result, "load.completed") > 0);
}
