//! Handshakes that come to nothing.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::server::{listen, run};
use crate::common::{count, errors};

/// Asserts that no connection is made, for this reason.
fn assert_fails(address: SocketAddr, changes: &Value, kind: &str, why: &str) {
    let result = run(address, &json!({}), changes);
    assert_eq!(count(&result, "load.offered"), 0, "{result}");
    let failed = count(&result, &format!("total.errors.{kind}"));
    assert!(failed >= 4, "{result}");
    assert_eq!(failed, errors(&result), "{result}");
    assert_eq!(result["total"]["reasons"][0]["why"], why, "{result}");
}

/// A server that answers the first bytes with these, and says no more.
fn answering(bytes: &'static [u8]) -> SocketAddr {
    listen(move |mut socket| {
        let length = socket.read(&mut [0; 4096])?;
        assert!(length > 0);
        socket.write_all(bytes)?;
        socket.shutdown(Shutdown::Write)?;
        thread::sleep(Duration::from_secs(3600));
        Ok(())
    })
}

#[test]
fn what_is_no_handshake_is_a_connect_error() {
    for (bytes, why) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "the server's handshake is not TLS",
        ),
        (&[0xff; 70_000], "the server's handshake is not TLS"),
        (
            &[21, 3, 3, 0, 2, 2, 40],
            "TLS alert handshake_failure: the server accepts nothing that was offered",
        ),
        (&[21, 3, 3, 0, 2, 2, 255], "a TLS alert"),
        (&[22, 3, 3, 1, 0, 2, 0], "closed before it could be used"),
        (b"", "closed before it could be used"),
        (&[23, 3, 3, 0, 2, 0, 0], "a TLS message out of turn"),
    ] {
        assert_fails(answering(bytes), &json!({}), "connect", why);
    }
}

#[test]
fn a_number_of_requests_is_given_up_when_all_handshakes_fail() {
    let address = answering(&[21, 3, 3, 0, 2, 2, 40]);
    let changes = json!({"requests": 10, "warmup_s": 0, "duration_s": 30, "connections": 2});
    let result = run(address, &json!({}), &changes);
    assert_eq!(count(&result, "load.offered"), 0, "{result}");
    // 50 more than connections, the one that was too much, and the other if it was under way then.
    let failed = count(&result, "total.errors.connect");
    assert!((53..=54).contains(&failed), "{result}");
}

#[test]
fn a_handshake_without_an_answer_is_a_connect_timeout() {
    let address = listen(|_socket| {
        thread::sleep(Duration::from_secs(3600));
        Ok(())
    });
    let changes = json!({"connect_timeout_s": 0.1});
    let why = "no TLS handshake in time";
    assert_fails(address, &changes, "connect_timeout", why);
}

#[test]
fn a_reset_is_a_connect_error() {
    // Closing while the hello lies unread resets the connection.
    let address = listen(|socket| {
        thread::sleep(Duration::from_millis(5));
        drop(socket);
        Ok(())
    });
    let result = run(address, &json!({}), &json!({}));
    assert_eq!(count(&result, "load.offered"), 0, "{result}");
    assert!(count(&result, "total.errors.connect") >= 4, "{result}");
    assert_eq!(count(&result, "total.errors.connect"), errors(&result));
}
