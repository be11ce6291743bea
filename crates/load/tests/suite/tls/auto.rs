//! The server chooses the version of HTTP.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::{ServerConnection, StreamOwned};
use serde_json::{Value, json};
use tare_load::h2::frame::{HEADER, Header, kind};
use tare_load::run::Error;
use tare_load::spec::Spec;

use super::server::{self, correct, listen, run};
use crate::common::h2::{answer, settings};
use crate::common::{self, count, errors};

/// A server that speaks HTTP/2 alone.
fn http2() -> std::net::SocketAddr {
    let mut config = server::config();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = Arc::new(config);
    listen(move |socket| {
        let connection = ServerConnection::new(config.clone()).expect("a configuration");
        let mut peer = StreamOwned::new(connection, socket);
        let mut preface = [0; 24];
        peer.read_exact(&mut preface)?;
        assert!(preface.starts_with(b"PRI * HTTP/2.0"));
        peer.write_all(&settings(&[]))?;
        loop {
            let mut header = [0; HEADER];
            peer.flush()?;
            peer.read_exact(&mut header)?;
            let header = Header::read(&header);
            peer.read_exact(&mut vec![0; header.length])?;
            if header.kind == kind::HEADERS {
                peer.write_all(&answer(header.stream, b"ok"))?;
            }
        }
    })
}

#[test]
fn the_server_s_choice_is_spoken() {
    let mut none = server::config();
    none.alpn_protocols.clear();
    for (address, protocol, alpn) in [
        (http2(), "h2", json!("h2")),
        (correct(server::config()), "h1", json!("http/1.1")),
        (correct(none), "h1", Value::Null),
    ] {
        let result = run(address, &json!({}), &json!({"protocol": "auto"}));
        assert_eq!(errors(&result), 0, "{result}");
        assert!(count(&result, "load.completed") > 0);
        assert_eq!(result["protocol"], protocol);
        assert_eq!(result["tls"]["alpn"], alpn);
    }
    let plain = common::Server::always(common::OK, || common::Then::Keep);
    let result = common::run(plain.address, &json!({"protocol": "auto"}));
    assert_eq!((errors(&result), &result["protocol"]), (0, &json!("h1")));
}

/// The exit code of a run that has no result, and its sentence.
fn refused(spec: &Value) -> (u8, String) {
    let spec = Spec::from_json(&spec.to_string()).expect("a spec");
    let interrupt = std::sync::atomic::AtomicBool::new(false);
    let refused = tare_load::run::run(&spec, &mut common::Silent, &interrupt);
    match refused.expect_err("no result") {
        Error::Usage(why) => (2, why.to_string()),
        Error::Other(why) => (1, why.to_string()),
        Error::Stopped => panic!("nothing stopped it"),
    }
}

#[test]
fn a_choice_that_cannot_be_known_is_the_server_s_error() {
    // The listener is gone after this line.
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let closed = closed.expect("a free port");
    let silent = listen(|_socket| {
        std::thread::sleep(std::time::Duration::from_secs(3600));
        Ok(())
    });
    // A byte at a time of a record that is never whole.
    let drips = listen(|mut socket| {
        socket.write_all(&[22, 3, 3, 0x40, 0])?;
        for _ in 0..60 {
            socket.write_all(&[0])?;
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Ok(())
    });
    let plain = listen(|mut socket| {
        let length = socket.read(&mut [0; 4096])?;
        assert!(length > 0);
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
        std::thread::sleep(std::time::Duration::from_secs(3600));
        Ok(())
    });
    let hangs_up = listen(|_| Ok(()));
    for (address, why) in [
        (closed, "Connection refused"),
        (silent, "no TLS handshake in time"),
        (drips, "no TLS handshake in time"),
        (plain, "the server's handshake is not TLS"),
        (hangs_up, ""),
    ] {
        let spec = json!({"url": format!("https://{address}/"), "protocol": "auto",
                          "connect_timeout_s": 0.3});
        let (code, error) = refused(&spec);
        let found =
            format!("protocol auto: {address} did not say which version of HTTP it speaks: {why}");
        assert!(error.starts_with(&found), "{why}: {error}");
        // As with any other dead server.
        assert_eq!(code, 1, "{error}");
    }
    let both = json!([{"url": format!("https://{}/", http2())},
                      {"url": format!("https://{}/", correct(server::config()))}]);
    let (code, error) = refused(&json!({"targets": both, "protocol": "auto"}));
    assert_eq!(code, 2, "{error}");
    assert!(
        error.contains("the servers choose different ones"),
        "{error}"
    );
}
