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

#[test]
fn a_late_answer_costs_its_connection_and_the_others_are_not_late() {
    // Requests follow each other on one connection, so that those behind the first have time left.
    let silent = Server::start(|_, _| Ok(Then::Keep));
    let pace = json!({"kind": "open", "rate": 40, "arrivals": "even"});
    let behind = json!({"connections": 1, "depth": 100, "loop": pace, "warmup_s": 0,
                        "duration_s": 1.2, "timeout_s": 0.4});
    let result = run(silent.address, &behind);
    let late = count(&result, "total.errors.timeout");
    let given_up = count(&result, "total.errors.read");
    assert!(late > 0 && given_up > 0, "{result}");
    assert_eq!(late + given_up, errors(&result), "{result}");
    assert!(reasons(&result, "read").all(|why| why.starts_with("given up with its connection")));
    // The server ended none of them.
    assert_eq!(count(&result, "total.lost_new"), 0, "{result}");
    assert_eq!(count(&result, "total.lost_kept"), 0, "{result}");
    assert_adds_up(&result);
}

#[test]
fn each_late_request_is_late_in_its_own_way() {
    let cut = Server::start(|stream, number| {
        if number == 0 {
            let (head, _) = OK.split_at(OK.len() - 2);
            stream.write_all(head)?;
        }
        Ok(Then::Keep)
    });
    let changes = json!({"connections": 1, "depth": 2, "requests": 2, "warmup_s": 0,
                         "duration_s": 600, "timeout_s": 60, "ttfb_timeout_s": 0.5});
    let result = run(cut.address, &changes);
    assert_eq!(count(&result, "errors.ttfb_timeout"), 1, "{result}");
    assert_eq!(count(&result, "errors.read"), 1, "{result}");
    assert_eq!(errors(&result), 2, "{result}");
}

/// The reasons of a kind of failures.
fn reasons<'r>(result: &'r Value, kind: &'r str) -> impl Iterator<Item = &'r str> {
    let all = result["total"]["reasons"].as_array().expect("a list");
    let own = all.iter().filter(move |reason| reason["kind"] == kind);
    own.map(|reason| reason["why"].as_str().expect("a text"))
}
