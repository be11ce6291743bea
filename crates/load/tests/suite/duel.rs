//! Duels: two targets that take turns in slices.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use crate::common::{OK, Server, Silent, Then, assert_adds_up, count, errors};
use serde_json::{Value, json};
use tare_load::spec::Spec;

/// A gap that no machine reaches.
const NEVER_US: f64 = 1e9;

fn duel(sides: [&Server; 2], changes: &Value) -> Value {
    let target = |(name, server): (&str, &Server)| {
        let url = format!("http://{}/", server.address);
        json!({"name": name, "url": url})
    };
    let targets: Vec<Value> = ["old", "new"].into_iter().zip(sides).map(target).collect();
    let mut spec = json!({
        "targets": targets, "connections": 3, "warmup_s": 0.1, "duration_s": 0.6,
        "timeout_s": 20.0, "slices": {"length_ms": 10, "gap_us": NEVER_US},
    });
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    let spec = Spec::from_json(&spec.to_string()).expect("a valid spec");
    let report = tare_load::run::run(&spec, &mut Silent, &AtomicBool::new(false));
    serde_json::to_value(report.expect("a finished run")).expect("a result is JSON")
}

/// A server that takes its time, counts its requests in `own`, and notes in `both` when another's
/// are in flight.
fn exclusive(own: Arc<AtomicU64>, others: Arc<AtomicU64>, both: Arc<AtomicU64>) -> Server {
    Server::start(move |stream, _| {
        own.fetch_add(1, SeqCst);
        thread::sleep(Duration::from_millis(1));
        both.fetch_add(others.load(SeqCst), SeqCst);
        own.fetch_sub(1, SeqCst);
        stream.write_all(OK)?;
        Ok(Then::Keep)
    })
}

fn paces() -> [Value; 3] {
    [
        json!({"kind": "closed"}),
        json!({"kind": "open", "rate": 1500, "arrivals": "poisson"}),
        json!({"kind": "open", "rate": 1500, "arrivals": "even"}),
    ]
}

#[test]
fn no_target_is_asked_while_another_answers() {
    for pace in paces() {
        let [old, new, both] = [(); 3].map(|()| Arc::<AtomicU64>::default());
        let sides = [
            exclusive(old.clone(), new.clone(), both.clone()),
            exclusive(new, old, both.clone()),
        ];
        let result = duel([&sides[0], &sides[1]], &json!({"loop": pace}));
        assert_eq!(both.load(SeqCst), 0, "{pace}");
        for (index, side) in sides.iter().enumerate() {
            assert!(side.answered() > 0, "{pace}");
            let total = count(&result["targets"][index], "total.requests");
            assert_eq!(total, side.answered(), "{pace}");
        }
        assert_eq!(errors(&result), 0, "{result}");
        assert_adds_up(&result);
    }
}

#[test]
fn rounds_are_kept_unless_the_generator_lost_time() {
    let servers = [(); 2].map(|()| Server::always(OK, || Then::Keep));
    for (gap_us, kept) in [(NEVER_US, true), (0.001, false)] {
        let slices = json!({"length_ms": 5, "gap_us": gap_us});
        let result = duel([&servers[0], &servers[1]], &json!({"slices": slices}));
        let rounds = count(&result, "slices.rounds");
        assert!(rounds > 0, "{result}");
        let expected = if kept { rounds } else { 0 };
        assert_eq!(count(&result, "slices.kept"), expected);
        let error = &result["slices"]["standard_errors"]["latency_p50_us"];
        assert_eq!(error.as_f64() > Some(0.0), kept && rounds >= 10, "{result}");
        for side in 0..2 {
            let target = &result["targets"][side];
            assert_eq!(target["outcomes"]["latency_p50_us"].is_f64(), kept);
            let rate = target["outcomes"]["requests_per_second"].as_f64();
            assert_eq!(rate.expect("a number") > 0.0, kept);
            assert!(count(target, "outcomes.requests") > 0);
            assert!(target["histograms"]["latency"].is_string());
        }
    }
}

#[test]
fn cpu_time_is_that_of_the_rounds_that_count() {
    let servers = [(); 2].map(|()| Server::always(OK, || Then::Keep));
    let account = std::env::temp_dir().join(format!("tare-duel-{}.usage", std::process::id()));
    std::fs::write(&account, "1000").expect("a file");
    let done = Arc::new(AtomicBool::new(false));
    let (path, ends) = (account.clone(), done.clone());
    // A group that uses 5 ms of CPU time each millisecond, so that nobody takes it for the truth.
    let writer = thread::spawn(move || {
        for step in 1_u64.. {
            if ends.load(SeqCst) {
                return;
            }
            let next = path.with_extension("next");
            std::fs::write(&next, (1000 + step * 5_000_000).to_string()).expect("a file");
            let mut file = std::fs::OpenOptions::new()
                .write(true)
                .open(&path)
                .expect("a file");
            file.write_all(&std::fs::read(next).expect("a file"))
                .expect("a file");
            thread::sleep(Duration::from_millis(1));
        }
    });
    for (gap_us, kept) in [(NEVER_US, true), (0.001, false)] {
        let slices = json!({"length_ms": 5, "gap_us": gap_us});
        let target = |server: &Server, accounts: Value| {
            let url = format!("http://{}/", server.address);
            json!({"url": url, "accounts": accounts})
        };
        let own = json!({"sut": account, "helper": account});
        let targets = [target(&servers[0], own), target(&servers[1], json!({}))];
        let changes = json!({"slices": slices, "targets": targets});
        let result = duel([&servers[0], &servers[1]], &changes);
        let rounds = &result["targets"][0]["rounds"];
        assert_eq!(count(rounds, "requests") > 0, kept, "{result}");
        assert_eq!(rounds["cpu_us"]["sut"].as_f64().is_some(), kept, "{result}");
        if kept {
            for role in ["sut", "helper"] {
                assert!(rounds["cpu_us"][role].as_f64() > Some(10_000.0), "{result}");
            }
            let share = &result["targets"][0]["outcomes"]["cpu_elsewhere_share"];
            let share = share.as_f64().expect("a number");
            assert!(share > 0.0 && share < 1.0, "{result}");
            let counted = count(rounds, "requests");
            assert!(counted <= count(&result["targets"][0], "total.requests"));
            let ordinary = &rounds["ordinary"];
            // None if the writer was kept from writing for a whole round.
            if !ordinary.is_null() {
                assert!(count(ordinary, "requests") <= counted, "{result}");
                let cost = |part: &Value| part["cpu_us"]["sut"].as_f64().expect("a number");
                let (some, all) = (cost(ordinary), cost(rounds));
                assert!(some > 0.0 && some <= all, "{result}");
            }
        }
        let other = &result["targets"][1];
        assert_eq!(other["rounds"]["cpu_us"], json!({}));
        assert!(
            other["outcomes"]["cpu_elsewhere_share"].is_null(),
            "{result}"
        );
    }
    done.store(true, SeqCst);
    writer.join().expect("no panic");
    std::fs::remove_file(account).expect("a file");
}

#[test]
fn a_tail_in_ordinary_rounds_takes_rounds_of_some_answers() {
    let servers = [(); 2].map(|()| Server::always(OK, || Then::Keep));
    let slices = json!({"length_ms": 10, "gap_us": NEVER_US});
    // Forty answers a slice, and four.
    for (rate, known) in [(4000, true), (400, false)] {
        let pace = json!({"kind": "open", "rate": rate, "arrivals": "even"});
        let changes = json!({"slices": slices, "loop": pace, "duration_s": 1.0});
        let result = duel([&servers[0], &servers[1]], &changes);
        for target in 0..2 {
            let outcomes = &result["targets"][target]["outcomes"];
            let p99 = &outcomes["ordinary_latency_p99_us"];
            assert_eq!(p99.is_f64(), known, "{result}");
            if known {
                let all = outcomes["latency_p99_us"].as_f64().expect("enough answers");
                assert!(p99.as_f64().expect("a number") <= all * 1.01, "{result}");
            }
        }
        let own = &result["outcomes"]["ordinary_latency_p99_us"];
        assert!(own.is_null(), "{result}");
    }
}

#[test]
fn answers_that_outlast_their_slice_are_part_of_the_rate() {
    const ANSWER_MS: u64 = 20;
    let servers = [(); 2].map(|()| {
        Server::start(|stream, _| {
            thread::sleep(Duration::from_millis(ANSWER_MS));
            stream.write_all(OK)?;
            Ok(Then::Keep)
        })
    });
    let slices = json!({"length_ms": 5, "gap_us": NEVER_US});
    let result = duel([&servers[0], &servers[1]], &json!({"slices": slices}));
    for target in 0..2 {
        let rate = result["targets"][target]["outcomes"]["requests_per_second"].as_f64();
        // Three connections, each with one request a slice.
        let most = 3.0 / (ANSWER_MS as f64 / 1e3);
        assert!(rate > Some(0.0) && rate <= Some(most), "{result}");
    }
}

#[test]
fn lateness_of_a_dropped_round_is_dropped_with_it() {
    let servers = [(); 2].map(|()| Server::always(OK, || Then::Keep));
    for (gap_us, kept) in [(NEVER_US, true), (0.001, false)] {
        let slices = json!({"length_ms": 5, "gap_us": gap_us});
        let pace = json!({"kind": "open", "rate": 1000, "arrivals": "even"});
        let result = duel(
            [&servers[0], &servers[1]],
            &json!({"slices": slices, "loop": pace}),
        );
        assert_eq!(result["load"]["send_lag_p50_us"].is_f64(), kept, "{result}");
    }
}

#[test]
fn requests_of_the_lead_in_are_not_measured() {
    let servers = [(); 2].map(|()| Server::always(OK, || Then::Keep));
    let slices = json!({"length_ms": 10, "lead_in_ms": 9.999_999, "gap_us": NEVER_US});
    let pace = json!({"kind": "open", "rate": 1000, "arrivals": "even"});
    let changes = json!({"slices": slices, "loop": pace});
    let result = duel([&servers[0], &servers[1]], &changes);
    assert!(count(&result, "slices.kept") > 0);
    for side in 0..2 {
        let outcomes = &result["targets"][side]["outcomes"];
        assert!(outcomes["requests"].as_f64().expect("a number") > 0.0);
        assert!(outcomes["latency_mean_us"].is_null(), "{outcomes}");
    }
}

#[test]
fn each_side_has_its_own_latency_and_errors() {
    let fast = Server::always(OK, || Then::Keep);
    let slow = Server::start(|stream, number| {
        thread::sleep(Duration::from_millis(3));
        let bad = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(if number % 4 == 3 { bad } else { OK })?;
        Ok(Then::Keep)
    });
    let result = duel([&fast, &slow], &json!({}));
    let [old, new] = [0, 1].map(|side| &result["targets"][side]);
    assert_eq!(count(old, "total.errors.status"), 0);
    assert!(count(new, "total.errors.status") > 0);
    assert_eq!(
        count(new, "total.statuses.503"),
        count(new, "total.errors.status")
    );
    let p50 = new["outcomes"]["latency_p50_us"]
        .as_f64()
        .expect("a number");
    assert!(p50 >= 3000.0, "{p50}");
    assert!(count(old, "outcomes.requests") > count(new, "outcomes.requests"));
}

#[test]
fn a_slice_ends_with_a_rest() {
    let servers = [(); 2].map(|()| Server::always(OK, || Then::Keep));
    let slices = json!({"length_ms": 1, "gap_us": NEVER_US});
    let result = duel([&servers[0], &servers[1]], &json!({"slices": slices}));
    let window_ms = 1e3 * result["window_s"].as_f64().expect("a number");
    let rounds = count(&result, "slices.rounds") as f64;
    assert!(
        rounds > 1.0 && (rounds - 1.0) * 2.2 <= window_ms,
        "{result}"
    );
}
