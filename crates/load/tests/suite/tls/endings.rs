//! How connections end, and what their ends make whole.

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr};

use serde_json::{Value, json};

use super::server::{self, run};
use crate::common::{self, Then, assert_adds_up, count, errors};

const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nas long as it lasts";

fn short() -> Value {
    json!({"requests": 8, "warmup_s": 0.0, "duration_s": 600})
}

/// A server that answers with `answer`, says that this is all or does not, and closes.
fn closing(answer: &'static [u8], says_so: bool) -> SocketAddr {
    server::start(server::config(), move |peer, _| {
        peer.write_all(answer)?;
        if says_so {
            peer.conn.send_close_notify();
        }
        peer.flush()?;
        // What the client has sent is read, so that this is an end and no reset.
        peer.sock.shutdown(Shutdown::Write)?;
        Ok(Then::Keep)
    })
}

#[test]
fn only_close_notify_makes_an_answer_whole() {
    for version in ["1.2", "1.3"] {
        let tls = json!({"version": version});
        let result = run(closing(UNTIL_CLOSE, true), &tls, &short());
        assert_eq!(errors(&result), 0, "{result}");
        assert_eq!(count(&result, "load.completed"), 8, "{result}");
        let result = run(closing(UNTIL_CLOSE, false), &tls, &json!({}));
        assert_eq!(count(&result, "total.requests"), 0, "{result}");
        assert!(count(&result, "total.errors.read") > 0, "{result}");
        let why = &result["total"]["reasons"][0]["why"];
        assert_eq!(why, "closed without close_notify");
        assert_adds_up(&result);
    }
}

#[test]
fn an_end_within_an_answer_is_a_read_error() {
    for says_so in [true, false] {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\ntoo short";
        let result = run(closing(answer, says_so), &json!({}), &short());
        assert_eq!(count(&result, "total.requests"), 0, "{result}");
        assert_eq!(count(&result, "total.errors.read"), errors(&result));
        assert!(errors(&result) > 0, "{result}");
    }
}

#[test]
fn an_end_between_answers_is_none() {
    for says_so in [true, false] {
        // With a pause the client is idle when the connection ends: that is no failure.
        let address = closing(common::OK, says_so);
        let changes = json!({"requests": 4, "warmup_s": 0.0, "duration_s": 60.0, "connections": 1,
                             "think": {"kind": "fixed", "s": 0.1}});
        let result = run(address, &json!({}), &changes);
        assert_eq!(count(&result, "load.completed"), 4, "{result}");
        assert_eq!(errors(&result), 0, "{result}");
    }
}

#[test]
fn records_that_are_none_are_read_errors() {
    for (bytes, why) in [
        (
            &[21, 3, 3, 0, 2, 2, 80][..],
            "a TLS record that is not encrypted",
        ),
        (&[23, 3, 3, 0x48, 1], "a TLS record that is too long"),
        (
            b"HTTP/1.1 200 OK\r\n\r\n",
            "bytes that are not a TLS record",
        ),
        (
            &[
                23, 3, 3, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ],
            "a TLS record that cannot be decrypted",
        ),
    ] {
        let address = server::start(server::config(), move |peer, _| -> io::Result<Then> {
            peer.sock.write_all(bytes)?;
            Ok(Then::Keep)
        });
        let result = run(address, &json!({"version": "1.3"}), &json!({}));
        assert_eq!(count(&result, "total.requests"), 0, "{result}");
        assert_eq!(count(&result, "total.errors.read"), errors(&result));
        assert_eq!(result["total"]["reasons"][0]["why"], why, "{result}");
        assert_adds_up(&result);
    }
}
