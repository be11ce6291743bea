//! The client of a content network: several targets, keys, think delays, time to the first byte.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{OK, Server, Then, bare, count, errors, run};
use serde_json::{Value, json};

/// The requests of its clients, and their addresses.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(IpAddr, String)>>>);

impl Log {
    /// A server that notes and answers.
    fn serve(&self) -> String {
        let log = self.clone();
        let address = bare::tcp("127.0.0.1", move |mut stream| {
            let peer = stream.peer_addr()?.ip();
            let (mut request, mut piece) = (Vec::new(), [0; 4096]);
            loop {
                let length = stream.read(&mut piece)?;
                if length == 0 {
                    return Ok(());
                }
                request.extend_from_slice(&piece[..length]);
                if request.ends_with(b"\r\n\r\n") {
                    let text = String::from_utf8_lossy(&request).into_owned();
                    let path = text.split(' ').nth(1).unwrap_or_default().to_string();
                    log.0.lock().expect("no panic").push((peer, path));
                    request.clear();
                    stream.write_all(OK)?;
                }
            }
        });
        format!("http://{address}")
    }

    fn taken(&self) -> Vec<(IpAddr, String)> {
        std::mem::take(&mut *self.0.lock().expect("no panic"))
    }
}

fn number(result: &Value, path: &str) -> f64 {
    let value = path.split('.').fold(result, |value, name| &value[name]);
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{path} in {result}"))
}

#[test]
fn targets_have_their_parts_of_the_rate_and_of_the_connections() {
    let log = Log::default();
    let url = log.serve();
    let open = json!({"kind": "open", "rate": 1000, "arrivals": "even"});
    let targets = json!([
        {"url": format!("{url}/a"), "weight": 3},
        {"url": format!("{url}/b"), "weight": 1},
    ]);
    for threads in [1, 3] {
        let mix = json!({
            "url": null, "targets": targets, "loop": open, "connections": 8, "threads": threads, "warmup_s": 0,
        });
        let result = bare::run("", &mix);
        assert_eq!(errors(&result), 0, "{result}");
        let asked = log.taken();
        let of = |path: &str| asked.iter().filter(|(_, asked)| asked == path).count();
        assert_eq!((of("/a"), of("/b")), (300, 100));
        let parts = result["targets"].as_array().expect("a list");
        let part = |index: usize, path: &str| number(&parts[index], path) as u64;
        assert_eq!((part(0, "connections"), part(1, "connections")), (6, 2));
        assert_eq!(part(0, "outcomes.requests"), 300);
        assert_eq!(part(1, "statuses.200"), 100);
        assert_eq!(count(&result, "outcomes.requests"), 400);
    }
}

#[test]
fn a_closed_loop_runs_beside_an_open_one() {
    let log = Log::default();
    let url = log.serve();
    let targets = json!([
        {"name": "paced", "url": format!("{url}/a"), "connections": 2},
        {"name": "busy", "url": format!("{url}/b/{{key}}"), "connections": 1, "closed": true,
         "keys": {"count": 3, "order": "turns"}},
    ]);
    let mix = json!({
        "url": null, "targets": targets, "warmup_s": 0,
        "loop": {"kind": "open", "rate": 1000, "arrivals": "even"},
    });
    let result = bare::run("", &mix);
    assert_eq!(errors(&result), 0, "{result}");
    let asked = log.taken();
    assert_eq!(asked.iter().filter(|(_, path)| path == "/a").count(), 400);
    let busy: Vec<_> = asked.iter().filter(|(_, path)| path != "/a").collect();
    for (number, (_, path)) in busy.iter().enumerate() {
        assert_eq!(*path, format!("/b/{}", number % 3));
    }
    let parts = result["targets"].as_array().expect("a list");
    assert_eq!(
        (&parts[0]["name"], &parts[1]["name"]),
        (&json!("paced"), &json!("busy"))
    );
    assert_eq!(number(&parts[0], "offered") as usize, 400);
    assert_eq!(number(&parts[0], "completed") as usize, 400);
    let done = number(&parts[1], "completed") as usize;
    assert!(
        done > 0 && done <= busy.len() && busy.len() <= done + 1,
        "{done}"
    );
    assert_eq!(number(&parts[1], "outcomes.requests") as usize, done);
    assert_eq!(number(&parts[1], "answered") as usize, done);
}

#[test]
fn each_target_has_its_own_oracle() {
    let log = Log::default();
    let url = log.serve();
    let targets = json!([
        {"url": format!("{url}/a"), "expect": {"body_length": 2}},
        {"url": format!("{url}/b"), "expect": {"body_length": 3}},
    ]);
    let result = bare::run("", &json!({"url": null, "targets": targets}));
    let parts = result["targets"].as_array().expect("a list");
    assert!(number(&parts[0], "outcomes.requests") > 0.0);
    assert_eq!(number(&parts[1], "outcomes.requests"), 0.0);
    assert!(number(&parts[1], "errors.body") > 0.0);
    assert_eq!(number(&parts[0], "errors.body"), 0.0);
}

#[test]
fn keys_in_turns_are_all_asked_for_whichever_threads_have_connections() {
    let log = Log::default();
    let url = log.serve();
    let target = |name: &str| {
        json!({"url": format!("{url}/{name}/{{key}}"), "connections": 1,
               "keys": {"count": 4, "order": "turns"}})
    };
    let changes = json!({
        "url": null, "targets": [target("a"), target("b")], "threads": 2, "requests": 16,
        "warmup_s": 0, "duration_s": 600,
    });
    let result = bare::run("", &changes);
    assert_eq!(errors(&result), 0, "{result}");
    let distinct: BTreeSet<String> = log.taken().into_iter().map(|(_, path)| path).collect();
    assert_eq!(distinct.len(), 8, "{distinct:?}");
}

#[test]
fn keys_are_drawn_by_their_law_and_seed() {
    let log = Log::default();
    let url = format!("{}/o/{{key}}", log.serve());
    let asked = |alpha: Option<f64>, seed: u64| {
        let keys = json!({"count": 20, "alpha": alpha});
        let made = json!({
            "keys": keys, "seed": seed, "requests": 2000, "warmup_s": 0, "duration_s": 600, "connections": 1,
        });
        let result = bare::run(&url, &made);
        assert_eq!(errors(&result), 0, "{result}");
        let paths = log.taken().into_iter().map(|(_, path)| path);
        paths.collect::<Vec<_>>()
    };
    let uniform = asked(None, 1);
    let distinct: BTreeSet<&String> = uniform.iter().collect();
    assert_eq!(distinct.len(), 20);
    assert!(distinct.contains(&"/o/0".to_string()) && distinct.contains(&"/o/19".to_string()));
    assert_eq!(uniform, asked(None, 1));
    assert_ne!(uniform, asked(None, 2));
    let zipf = asked(Some(1.2), 1);
    let of = |key: &str| zipf.iter().filter(|path| *path == key).count();
    assert!(of("/o/0") > 2 * of("/o/4") && of("/o/4") > of("/o/19"));
}

#[test]
fn connections_come_from_all_sources() {
    let log = Log::default();
    let url = log.serve();
    let sources = ["127.0.0.2", "127.0.0.3"];
    let result = bare::run(&url, &json!({"sources": sources}));
    assert_eq!(errors(&result), 0, "{result}");
    let peers: BTreeSet<IpAddr> = log.taken().into_iter().map(|(peer, _)| peer).collect();
    let named = sources
        .iter()
        .map(|source| source.parse().expect("an address"));
    assert_eq!(peers, named.collect());
}

#[test]
fn a_connection_thinks_between_requests() {
    let server = Server::always(OK, || Then::Keep);
    let think = json!({"kind": "fixed", "s": 0.05});
    let result = run(
        server.address,
        &json!({"think": think, "connections": 2, "warmup_s": 0, "duration_s": 0.5}),
    );
    assert_eq!(errors(&result), 0);
    // Each connection asks at once, and then at most every 50 ms.
    let most = 2 * (1 + 10);
    let asked = count(&result, "total.requests");
    assert!(asked > 2 && asked <= most, "{asked}");
    // Thinking is no latency.
    assert!(number(&result, "outcomes.latency_mean_us") < number(&result, "window_s") * 1e6);
}

#[test]
fn the_first_byte_is_told_from_the_last() {
    let server = Server::start(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")?;
        thread::sleep(Duration::from_millis(30));
        stream.write_all(b"k")?;
        Ok(Then::Keep)
    });
    let result = run(server.address, &json!({}));
    assert_eq!(errors(&result), 0);
    let gap =
        number(&result, "outcomes.latency_mean_us") - number(&result, "outcomes.ttfb_mean_us");
    assert!(gap >= 29_000.0, "{gap}");
    assert!(count(&result, "outcomes.connect_max_us") > 0);
    assert!(result["outcomes"]["handshake_max_us"].is_null());
}

#[test]
fn what_is_late_is_told_apart() {
    let silent = Server::start(|_, _| {
        thread::sleep(Duration::from_secs(60));
        Ok(Then::Close)
    });
    let late = json!({"timeout_s": 0.3, "ttfb_timeout_s": 0.1});
    let result = run(silent.address, &late);
    let of = |result: &Value, kind: &str| count(result, &format!("total.errors.{kind}"));
    assert!(
        of(&result, "ttfb_timeout") > 0 && of(&result, "timeout") == 0,
        "{result}"
    );
    let endless = Server::start(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")?;
        thread::sleep(Duration::from_secs(60));
        Ok(Then::Close)
    });
    let late = json!({"timeout_s": 0.3, "ttfb_timeout_s": 0.2});
    let result = run(endless.address, &late);
    assert!(of(&result, "timeout") > 0, "{result}");
    // A busy machine may look only when the first byte is late, too.
    assert_eq!(
        of(&result, "timeout") + of(&result, "ttfb_timeout"),
        errors(&result)
    );
}

#[test]
fn a_server_that_accepts_nothing_is_a_connect_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    rustix::net::listen(&listener, 0).expect("it listens already");
    let address = listener.local_addr().expect("an address");
    // The kernel lets one or two in; the others' packets get no answer.
    let late = json!({"connections": 8, "connect_timeout_s": 0.1, "timeout_s": 0.2});
    let result = run(address, &late);
    assert_eq!(count(&result, "load.completed"), 0);
    assert!(
        count(&result, "total.errors.connect_timeout") > 0,
        "{result}"
    );
}
