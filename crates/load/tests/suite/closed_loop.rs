//! The closed loop, its counts, and its check of answers.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{OK, Server, Then, assert_adds_up, count, errors, run, run_until};
use serde_json::json;

#[test]
fn counts_agree_with_the_server() {
    let server = Server::always(OK, || Then::Keep);
    for threads in [1, 3] {
        let before = server.answered();
        let result = run(
            server.address,
            &json!({"threads": threads, "cooldown_s": 0.1}),
        );
        assert_eq!(count(&result, "total.requests"), server.answered() - before);
        assert_eq!(
            count(&result, "total.statuses.200"),
            server.answered() - before
        );
        assert_eq!(errors(&result), 0);
        let completed = count(&result, "load.completed");
        assert!(completed > 0 && completed < server.answered() - before);
        assert_eq!(count(&result, "statuses.200"), completed);
        assert_eq!(count(&result, "outcomes.requests"), completed);
        assert_adds_up(&result);
    }
    assert_eq!(server.accepted(), 8);
}

#[test]
fn in_flight_obeys_little() {
    let server = Server::always(OK, || Then::Keep);
    let result = run(server.address, &json!({}));
    let number = |group: &str, name: &str| result[group][name].as_f64().expect("a number");
    let in_flight = number("load", "in_flight_mean");
    let rate = number("outcomes", "requests_per_second");
    let predicted = rate * number("outcomes", "latency_mean_us") / 1e6;
    // Requests that straddle an edge of the window count in part; there are 4 at each.
    let straddling = 8.0 * number("outcomes", "latency_max_us") / 1e6 / 0.4;
    assert!(
        (in_flight - predicted).abs() <= straddling + 0.01 * predicted,
        "{result}"
    );
    assert!(in_flight <= 4.0);
}

#[test]
fn a_wrong_status_is_an_error() {
    let server = Server::start(|stream, number| {
        let bad = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(if number % 2 == 0 { OK } else { bad })?;
        Ok(Then::Keep)
    });
    let result = run(server.address, &json!({}));
    assert_eq!(
        count(&result, "total.errors.status"),
        count(&result, "total.statuses.503")
    );
    assert_eq!(
        count(&result, "errors.status"),
        count(&result, "statuses.503")
    );
    assert_eq!(
        count(&result, "load.completed"),
        count(&result, "statuses.200")
    );
    assert_eq!(count(&result, "total.requests"), server.answered());
    let result = run(server.address, &json!({"expect": {"status": [200, 503]}}));
    assert_eq!(errors(&result), 0);
}

#[test]
fn a_wrong_body_is_an_error() {
    let server = Server::always(OK, || Then::Keep);
    let digest = "2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df";
    let right = json!({"expect": {"body_length": 2, "body_sha256": digest}});
    let result = run(server.address, &right);
    assert_eq!(errors(&result), 0);
    assert!(count(&result, "load.completed") > 0);
    let other = digest.replace('2', "3");
    for wrong in [json!({"body_length": 3}), json!({"body_sha256": other})] {
        let result = run(server.address, &json!({"expect": wrong}));
        assert_eq!(count(&result, "load.completed"), 0);
        assert_eq!(
            count(&result, "total.errors.body"),
            count(&result, "total.requests")
        );
        assert_adds_up(&result);
    }
}

#[test]
fn large_bodies_are_counted_and_hashed_whole() {
    let body = "0123456789".repeat(100_000);
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let server = Server::always(answer, || Then::Keep);
    let digest = "ec21d64624228af3ecd4bdaa8239e32ed943b01e26934cd5610fddb361426dc6";
    for expect in [
        json!({"body_length": 1_000_000}),
        json!({"body_sha256": digest}),
    ] {
        let before = server.answered();
        let result = run(server.address, &json!({"expect": expect}));
        assert_eq!(errors(&result), 0, "{result}");
        assert_eq!(count(&result, "total.requests"), server.answered() - before);
    }
    let result = run(server.address, &json!({"expect": {"body_length": 999_999}}));
    assert_eq!(
        count(&result, "total.errors.body"),
        count(&result, "total.requests")
    );
}

#[test]
fn answers_without_a_body_are_answers() {
    let no_content = b"HTTP/1.1 204 No Content\r\n\r\n";
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    let interim = [b"HTTP/1.1 100 Continue\r\n\r\n", OK].concat();
    for (answer, changes) in [
        (&no_content[..], json!({"expect": {"status": [204]}})),
        (&head[..], json!({"method": "HEAD"})),
        (&interim[..], json!({})),
    ] {
        let server = Server::always(answer, || Then::Keep);
        let result = run(server.address, &changes);
        assert_eq!(errors(&result), 0);
        assert_eq!(count(&result, "total.requests"), server.answered());
        assert_eq!(server.accepted(), 4);
    }
}

#[test]
fn a_server_may_close_when_it_says_so() {
    let server = Server::start(|stream, number| {
        if number < 4 {
            stream.write_all(OK)?;
            return Ok(Then::Keep);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")?;
        Ok(Then::Close)
    });
    let result = run(server.address, &json!({}));
    assert_eq!(errors(&result), 0);
    assert_eq!(count(&result, "total.requests"), server.answered());
    // Its last connections may be new ones that carried no request.
    assert!(server.accepted() >= server.answered().div_ceil(5));
}

#[test]
fn a_body_may_end_with_the_connection() {
    let server = Server::always("HTTP/1.1 200 OK\r\n\r\nhello", || Then::Close);
    let result = run(server.address, &json!({"expect": {"body_length": 5}}));
    assert_eq!(errors(&result), 0);
    assert!(count(&result, "load.completed") > 0);
    assert_eq!(count(&result, "total.requests"), server.answered());
}

#[test]
fn connections_open_along_the_ramp() {
    static FIRST: Mutex<Vec<Instant>> = Mutex::new(Vec::new());
    let server = Server::start(|stream, number| {
        if number == 0 {
            FIRST.lock().expect("no panic").push(Instant::now());
        }
        stream.write_all(OK)?;
        Ok(Then::Keep)
    });
    let began = Instant::now();
    let result = run(server.address, &json!({"ramp_per_s": 10.0, "threads": 2}));
    assert_eq!(errors(&result), 0);
    let mut first = FIRST.lock().expect("no panic").clone();
    first.sort_unstable();
    assert_eq!(first.len(), 4);
    for (number, at) in first.into_iter().enumerate() {
        assert!(at - began >= Duration::from_millis(100 * number as u64));
    }
}

#[test]
fn an_interrupt_ends_the_window_and_keeps_its_result() {
    let server = Server::always(OK, || Then::Keep);
    let interrupt = &AtomicBool::new(false);
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(400));
            interrupt.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        run_until(server.address, &json!({"duration_s": 600.0}), interrupt)
    });
    let window = result["window_s"].as_f64().expect("a number");
    assert!(window > 0.0 && window < 600.0);
    assert!(count(&result, "load.completed") > 0);
    assert_eq!(count(&result, "total.requests"), server.answered());
}

#[test]
fn a_run_that_ends_with_its_requests_reports_its_cpu_time() {
    let server = Server::always(OK, || Then::Keep);
    for kind in ["serial", "closed"] {
        let changes = json!({"requests": 3000, "warmup_s": 0, "duration_s": 600,
                             "loop": {"kind": kind}});
        let load = &run(server.address, &changes)["load"];
        let number = |name: &str| load[name].as_f64().expect("a number");
        assert!(
            number("cpu_user_s") + number("cpu_system_s") > 0.0,
            "{load}"
        );
        assert!(number("cpu_busiest_thread") > 0.0, "{load}");
    }
}

#[test]
fn a_connection_carries_as_many_requests_as_it_may() {
    let server = Server::always(OK, || Then::Keep);
    let changes = json!({"requests": 30, "warmup_s": 0, "duration_s": 600, "connections": 2,
                         "requests_per_connection": 3});
    let result = run(server.address, &changes);
    assert_eq!(count(&result, "total.requests"), 30);
    assert_eq!(errors(&result), 0);
    // The other one may have been opened for requests that the last one then made.
    assert!(
        (10..=11).contains(&server.accepted()),
        "{}",
        server.accepted()
    );
}

#[test]
fn no_connection_is_opened_for_nothing() {
    let wanted = json!({"requests": 3, "warmup_s": 0, "duration_s": 600, "connections": 1,
                        "requests_per_connection": 1});
    let ramp = json!({"requests": 3, "warmup_s": 0, "duration_s": 600, "connections": 50,
                      "ramp_per_s": 0.5});
    for (changes, connections) in [(wanted, 3), (ramp, 1)] {
        let server = Server::always(OK, || Then::Keep);
        let result = run(server.address, &changes);
        assert_eq!(count(&result, "total.requests"), 3);
        // What was begun at the end has been accepted by then.
        thread::sleep(Duration::from_millis(50));
        assert_eq!(server.accepted(), connections);
    }
}

#[test]
fn a_number_of_requests_is_that_of_the_window() {
    let server = Server::start(|stream, _| {
        thread::sleep(Duration::from_millis(20));
        stream.write_all(OK)?;
        Ok(Then::Keep)
    });
    // Some of the warm-up's requests are answered, or sent late, within the window.
    let even = json!({"kind": "open", "rate": 300, "arrivals": "even"});
    for pace in [json!({"kind": "closed"}), even] {
        let asked = json!({"requests": 40, "warmup_s": 0.11, "duration_s": 600, "loop": pace});
        let result = run(server.address, &asked);
        assert_eq!(count(&result, "load.offered"), 40, "{result}");
        assert_eq!(count(&result, "load.completed"), 40, "{result}");
        assert_eq!(count(&result, "outcomes.requests"), 40, "{result}");
        assert!(count(&result, "total.requests") > 40, "{result}");
    }
}
