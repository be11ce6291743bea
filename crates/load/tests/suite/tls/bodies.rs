//! Bodies arrive whole, however they are cut into records and packets.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;

use serde_json::json;
use sha2::{Digest, Sha256};
use tare_load::random;

use super::server::{self, listen, run};
use crate::common::{Then, count, errors};

/// A server of one body, in records of so many bytes, and what must come of it.
fn bodies(record: Option<usize>, length: usize) -> (SocketAddr, serde_json::Value) {
    let body = random::bytes(7, length);
    let digest: String = Sha256::digest(&body)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut config = server::config();
    config.max_fragment_size = record;
    let answer = [
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes(),
        body,
    ]
    .concat();
    let address = server::start(config, move |peer, _| {
        peer.write_all(&answer)?;
        Ok(Then::Keep)
    });
    let expect = json!({"requests": 12, "warmup_s": 0.0, "duration_s": 60.0,
                        "expect": {"body_length": length, "body_sha256": digest}});
    (address, expect)
}

/// Forwards connections to `server` in pieces of odd sizes.
fn in_pieces(server: SocketAddr) -> SocketAddr {
    listen(move |client| {
        let server = TcpStream::connect(server)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (from, to) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || forward(from, to, 1));
        forward(server, client, 2);
        Ok(())
    })
}

fn forward(mut from: TcpStream, mut to: TcpStream, seed: u64) {
    let mut buffer = [0; 4096];
    let sizes = random::bytes(seed, 1024);
    for size in sizes.iter().cycle() {
        // From a byte to more than a packet: the beginnings of records fall anywhere.
        let size = (usize::from(*size) * 16 + 1).min(buffer.len());
        match from.read(&mut buffer[..size]) {
            Ok(length) if length > 0 && to.write_all(&buffer[..length]).is_ok() => {}
            _ => break,
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[test]
fn large_bodies_in_records_of_any_size() {
    for (version, record, length) in [
        ("1.3", None, 5_000_000),
        ("1.2", None, 5_000_000),
        ("1.3", Some(100), 300_000),
        ("1.2", Some(100), 300_000),
    ] {
        let (address, expect) = bodies(record, length);
        for address in [address, in_pieces(address)] {
            let result = run(address, &json!({"version": version}), &expect);
            assert_eq!(errors(&result), 0, "{result}");
            assert_eq!(count(&result, "load.completed"), 12, "{result}");
        }
    }
}

#[test]
fn keys_change_amid_answers() {
    let address = server::start(server::config(), |peer, _| {
        peer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")?;
        peer.flush()?;
        peer.conn
            .refresh_traffic_keys()
            .map_err(std::io::Error::other)?;
        peer.write_all(b"ok")?;
        Ok(Then::Keep)
    });
    let changes = json!({"requests": 100, "warmup_s": 0.0, "duration_s": 600,
                         "expect": {"body_length": 2}});
    let result = run(address, &json!({"version": "1.3"}), &changes);
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!(count(&result, "load.completed"), 100, "{result}");
}
