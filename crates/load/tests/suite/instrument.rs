//! The binary: the instrument protocol, its exit codes, and the mode for people.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use crate::common::{OK, Server, Then, count, spec};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

fn tare_load() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tare-load"))
}

/// A file with `text` in it, for as long as it is held.
struct File(std::path::PathBuf);

impl File {
    fn with(name: &str, text: &str) -> Self {
        let name = format!("tare-load-{}-{name}.json", std::process::id());
        File::at(std::env::temp_dir().join(name), text)
    }

    fn at(path: std::path::PathBuf, text: &str) -> Self {
        std::fs::write(&path, text).expect("a writable directory");
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn lines(output: &[u8]) -> Vec<Value> {
    let lines = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect()
}

/// The binary on its way, with what it prints.
fn started(spec: &File) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = tare_load()
        .arg("--spec")
        .arg(&spec.0)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    (child, lines)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn tells_its_events_in_order() {
    let server = Server::always(OK, || Then::Keep);
    let spec = spec(server.address, &json!({"warmup_s": 0.7, "duration_s": 1.7}));
    let file = File::with("events", &spec.to_string());
    let output = tare_load()
        .arg("--spec")
        .arg(&file.0)
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = lines(&output.stdout);
    let (progress, others): (Vec<&Value>, Vec<&Value>) =
        lines.iter().partition(|line| line["event"] == "progress");
    let names: Vec<&Value> = others.iter().map(|line| &line["event"]).collect();
    assert_eq!(names, ["measure", "measured", "result"]);
    let phases: Vec<&Value> = progress.iter().map(|line| &line["phase"]).collect();
    // Most of the first second is before the window, and the last is a part of a second.
    assert_eq!(phases, ["warmup", "measure", "measure"]);
    assert!(progress[1]["p50_us"].as_f64().is_some());
    let result = others[2];
    assert_eq!(count(result, "total.requests"), server.answered());
    assert_eq!(result["schema"], 1);
    assert_eq!(result["window_s"], 1.7);
}

#[test]
fn a_run_with_a_start_file_begins_when_the_file_is_there() {
    let server = Server::always(OK, || Then::Keep);
    let name = format!("tare-load-{}-start", std::process::id());
    let start = std::env::temp_dir().join(name);
    let own = json!({"start_file": start, "warmup_s": 0, "duration_s": 0.1});
    let file = File::with("started", &spec(server.address, &own).to_string());
    let (mut child, mut lines) = started(&file);
    let mut next = || lines.next().expect("a line").expect("text");
    assert_eq!(next(), r#"{"event":"ready"}"#);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(server.answered(), 0, "nothing is sent before the start");
    let _started = File::at(start, "");
    assert!(next().contains("\"measure\""));
    assert!(
        lines
            .last()
            .expect("a line")
            .expect("text")
            .contains("\"result\"")
    );
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(server.answered() > 0);
}

#[test]
fn a_signal_ends_the_wait_for_a_start_file() {
    let server = Server::always(OK, || Then::Keep);
    let own = json!({"start_file": "/nonexistent/start", "warmup_s": 30});
    let file = File::with("waits", &spec(server.address, &own).to_string());
    let (mut child, mut lines) = started(&file);
    assert_eq!(
        lines.next().expect("a line").expect("text"),
        r#"{"event":"ready"}"#
    );
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    let last = lines.last().expect("a line").expect("text");
    let result: Value = serde_json::from_str(&last).expect("JSON");
    assert_eq!(
        (&result["window_s"], &result["stopped_early"]),
        (&json!(0.0), &json!(true))
    );
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_signal_still_brings_the_result() {
    let server = Server::always(OK, || Then::Keep);
    let file = File::with(
        "signal",
        &spec(server.address, &json!({"duration_s": 600})).to_string(),
    );
    let (mut child, mut lines) = started(&file);
    let first = lines.next().expect("a line").expect("text");
    assert!(first.contains("\"measure\""), "{first}");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    let last = lines.last().expect("a line").expect("text");
    let result: Value = serde_json::from_str(&last).expect("JSON");
    assert_eq!(result["event"], "result");
    assert!(result["window_s"].as_f64().expect("a number") < 600.0);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_spec_that_cannot_be_used_exits_with_2() {
    let url = "http://127.0.0.1:9/";
    for (spec, name) in [
        (json!({"url": url, "conections": 1}), "conections"),
        (json!({"url": "ftp://127.0.0.1/"}), "url"),
        (json!({"url": url, "protocol": "h9"}), "protocol"),
        (json!({"url": url, "threads": 65}), "threads"),
        (json!({"url": url, "cpus": [4000]}), "cpus"),
        (json!({"url": url, "duration_s": 0}), "duration_s"),
        (
            json!({"url": url, "expect": {"body_sha256": "abc"}}),
            "expect.body_sha256",
        ),
        (
            json!({"url": url, "loop": {"kind": "open", "rate": -1}}),
            "loop.rate",
        ),
        (
            json!({"url": url, "loop": {"kind": "open", "rate": 1e9}}),
            "loop.rate: 1000000000 is more than 10000000 a second for each thread",
        ),
        (
            json!({"url": url, "sources": ["127.0.0.2", "192.0.2.1"]}),
            "sources: 192.0.2.1 is not an address of this machine",
        ),
        (
            json!({"url": url, "sources": ["::1"]}),
            "sources: ::1 is not of the family of the server's address 127.0.0.1:9",
        ),
    ] {
        let file = File::with("unusable", &spec.to_string());
        let output = tare_load()
            .arg("--spec")
            .arg(&file.0)
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{spec}");
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    let output = tare_load()
        .args(["--spec", "/nonexistent"])
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn people_get_a_summary_and_an_exit_code() {
    let server = Server::always(OK, || Then::Keep);
    let url = format!("http://{}/", server.address);
    let common = ["-c", "2", "-d", "200ms", "--warmup", "0"];
    let output = tare_load()
        .arg(&url)
        .args(common)
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("req/s") && text.contains("errors        0"),
        "{text}"
    );

    assert!(text.contains("from the send to the last byte"), "{text}");
    let open = tare_load()
        .arg(&url)
        .args(common)
        .args(["--rate", "100"])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&open.stdout);
    assert!(
        text.contains("from the intended send to the last byte"),
        "{text}"
    );

    let wrong = tare_load()
        .arg(&url)
        .args(common)
        .args(["--expect-status", "204"])
        .output();
    assert_eq!(wrong.expect("it starts").status.code(), Some(1));

    let json = tare_load()
        .arg(&url)
        .args(common)
        .arg("--json")
        .output()
        .expect("it starts");
    assert_eq!(lines(&json.stdout)[0]["event"], "result");

    let usage = tare_load().arg("--rate").output().expect("it starts");
    assert_eq!(usage.status.code(), Some(2));
}
