//! The open loop: intended sends, and latencies from them.

use std::io::Write;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{OK, Server, Then, assert_adds_up, count, errors, run};
use serde_json::json;
use tare_load::spec::Spec;

#[test]
fn every_intended_send_is_accounted_for() {
    let server = Server::always(OK, || Then::Keep);
    for threads in [1, 3] {
        let before = server.answered();
        let pace = json!({"kind": "open", "rate": 1000, "arrivals": "even"});
        let result = run(server.address, &json!({"loop": pace, "threads": threads}));
        assert_eq!(count(&result, "load.offered"), 400);
        assert_eq!(count(&result, "load.completed"), 400);
        assert_eq!(count(&result, "total.requests"), 500);
        assert_eq!(server.answered() - before, 500);
        assert_eq!(errors(&result), 0);
    }
}

#[test]
fn a_seed_makes_the_arrivals() {
    let server = Server::always(OK, || Then::Keep);
    let offered = |seed: u64| {
        let pace = json!({"kind": "open", "rate": 1000, "arrivals": "poisson"});
        let result = run(server.address, &json!({"loop": pace, "seed": seed}));
        assert_adds_up(&result);
        count(&result, "total.requests")
    };
    assert_eq!(offered(1), offered(1));
    assert_ne!(offered(1), offered(2));
}

#[test]
fn a_thread_may_poll_or_sleep_between_its_sends() {
    let server = Server::always(OK, || Then::Keep);
    for wait in ["spin", "sleep"] {
        let pace = json!({"kind": "open", "rate": 5000, "arrivals": "even", "wait": wait});
        let result = run(server.address, &json!({"loop": pace}));
        assert_eq!(count(&result, "load.offered"), 2000);
        assert_eq!(count(&result, "load.completed"), 2000);
        assert_eq!(errors(&result), 0);
        assert!(
            count(&result, "outcomes.latency_p50_us") >= count(&result, "outcomes.service_p50_us"),
            "{result}"
        );
    }
}

#[test]
fn what_is_no_way_to_wait_is_told() {
    let pace = json!({"kind": "open", "rate": 1, "wait": "doze"});
    let text = json!({"url": "http://127.0.0.1:1/", "loop": pace}).to_string();
    let error = Spec::from_json(&text).unwrap_err().to_string();
    assert!(error.contains("doze") && error.contains("sleep"), "{error}");
}

#[test]
fn a_stall_is_seen_by_all_who_waited() {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let server = Server::start(|stream, _| {
        let age = BEGAN.get_or_init(Instant::now).elapsed();
        // Requests of the second half of each second wait for its end.
        if let Some(within) = age.checked_sub(Duration::from_millis(500)) {
            thread::sleep(Duration::from_secs(1).saturating_sub(within));
        }
        stream.write_all(OK)?;
        Ok(Then::Keep)
    });
    let pace = json!({"kind": "open", "rate": 500, "arrivals": "even"});
    let result = run(
        server.address,
        &json!({"loop": pace, "duration_s": 2.0, "timeout_s": 60.0}),
    );
    assert_eq!(count(&result, "load.offered"), 1000);
    assert_eq!(count(&result, "load.completed"), 1000);
    assert!(
        count(&result, "outcomes.latency_p99_us") >= 850_000,
        "{result}"
    );
}

#[test]
fn what_is_never_answered_is_never_forgotten() {
    let server = Server::start(|stream, number| {
        if number == 0 {
            stream.write_all(OK)?;
            return Ok(Then::Keep);
        }
        thread::sleep(Duration::from_secs(3600));
        Ok(Then::Close)
    });
    let pace = json!({"kind": "open", "rate": 1000, "arrivals": "even"});
    let result = run(
        server.address,
        &json!({"loop": pace, "warmup_s": 0.0, "timeout_s": 0.5}),
    );
    assert_eq!(count(&result, "load.offered"), 400);
    assert!(count(&result, "load.unfinished") > 0);
    assert!(count(&result, "errors.timeout") > 0);
    assert_adds_up(&result);
    // Those who queue are in flight, too: up to 400 of them within the window.
    assert!(
        result["load"]["in_flight_mean"].as_f64().expect("a number") > 100.0,
        "{result}"
    );
}

#[test]
fn a_rate_may_change_over_the_window() {
    let server = Server::always(OK, || Then::Keep);
    let pace = json!({"kind": "open", "rate": 1000, "arrivals": "even"});
    for (profile, offered) in [
        (json!({"kind": "ramp", "to": 3000, "s": 0.4}), 800),
        (
            json!({"kind": "spike", "to": 2000, "at_s": 0.1, "s": 0.1}),
            500,
        ),
        (
            json!({"kind": "sine", "amplitude": 1000, "period_s": 1}),
            400 + 287,
        ),
        (
            json!({"kind": "points", "points": [[0, 0], [0.2, 0], [0.2, 2000]]}),
            400,
        ),
    ] {
        for threads in [1, 3] {
            let changes = json!({"loop": pace, "profile": profile, "threads": threads});
            let result = run(server.address, &changes);
            assert_eq!(errors(&result), 0, "{result}");
            assert_adds_up(&result);
            let found = count(&result, "load.offered");
            assert!(found.abs_diff(offered) <= 2, "{profile}: {found}");
            // The warm-up has the loop's own rate.
            let before = count(&result, "total.requests") - found;
            assert!(before.abs_diff(100) <= 2, "{profile}: {before}");
            let rate = result["load"]["rate"].as_f64().expect("a number");
            assert!((rate * 0.4 - found as f64).abs() < 3.0, "{rate}");
        }
    }
}

#[test]
fn the_mean_of_a_rate_is_that_of_the_window_as_it_was() {
    let server = Server::always(OK, || Then::Keep);
    let pace = json!({"kind": "open", "rate": 1000, "arrivals": "even"});
    let ramp = json!({"kind": "ramp", "to": 3000, "s": 1});
    let asked = json!({"loop": pace, "profile": ramp, "requests": 400, "duration_s": 3600});
    let result = run(server.address, &asked);
    let rate = result["load"]["rate"].as_f64().expect("a number");
    // Of an hour it would be 2999.7.
    assert!(rate < 2500.0, "{rate}");
}
