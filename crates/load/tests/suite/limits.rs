//! Time limits: what comes after them is late, however soon after them it comes.

use std::io::Write;
use std::thread;
use std::time::Duration;

use crate::common::{OK, Server, Then, assert_adds_up, bare, count, errors, run};
use serde_json::{Value, json};

/// Longer than a limit of 0.1 s, and shorter than the time to the next look for what is late.
const BEYOND: Duration = Duration::from_millis(110);

fn four(changes: &Value) -> Value {
    let mut asked = json!({"requests": 4, "warmup_s": 0, "duration_s": 600});
    for (field, value) in changes.as_object().expect("an object") {
        asked[field] = value.clone();
    }
    asked
}

#[test]
fn an_answer_after_its_limit_is_a_time_out() {
    let server = Server::start(|stream, _| {
        thread::sleep(BEYOND);
        stream.write_all(OK)?;
        Ok(Then::Keep)
    });
    for (kind, limits) in [
        ("timeout", json!({"timeout_s": 0.1})),
        ("ttfb_timeout", json!({"ttfb_timeout_s": 0.1})),
    ] {
        let result = run(server.address, &four(&limits));
        assert_eq!(count(&result, "load.completed"), 0, "{result}");
        assert_eq!(errors(&result), 4, "{result}");
        assert_eq!(count(&result, &format!("errors.{kind}")), 4, "{result}");
        assert_adds_up(&result);
    }
}

#[test]
fn an_answer_that_begins_after_its_limit_is_a_time_out() {
    let server = Server::start(|stream, _| {
        thread::sleep(BEYOND);
        let (head, body) = OK.split_at(OK.len() - 2);
        stream.write_all(head)?;
        thread::sleep(BEYOND);
        stream.write_all(body)?;
        Ok(Then::Keep)
    });
    let result = run(server.address, &four(&json!({"ttfb_timeout_s": 0.1})));
    assert_eq!(count(&result, "errors.ttfb_timeout"), 4, "{result}");
    assert_eq!(count(&result, "load.completed"), 0, "{result}");
}

#[test]
fn a_connection_after_its_limit_is_not_used() {
    let address = bare::tcp("127.0.0.1", |stream| {
        thread::sleep(BEYOND);
        let mut socket = tungstenite::accept(stream).map_err(std::io::Error::other)?;
        while socket.read().is_ok() {}
        Ok(())
    });
    let late = json!({"protocol": "ws", "connect_timeout_s": 0.1});
    let result = run(address, &late);
    assert_eq!(count(&result, "total.requests"), 0, "{result}");
    assert_eq!(
        count(&result, "total.errors.connect_timeout"),
        errors(&result),
        "{result}"
    );
    assert!(errors(&result) > 0, "{result}");
}
