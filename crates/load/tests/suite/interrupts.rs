//! Signals to the program: a run that was stopped early says so.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{OK, Server, Then, bare};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The program under a load that lasts, after its first line of progress.
fn started(server: &Server, arguments: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .arg(format!("http://{}/", server.address))
        .args(["-c", "4", "-d", "600s", "--warmup", "0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("text");
    assert!(line.contains("measure"), "{line}");
    (child, stderr)
}

/// The output of a load that SIGINT stopped.
fn interrupted(server: &Server, arguments: &[&str]) -> Output {
    let (child, stderr) = started(server, arguments);
    stopped(child, stderr)
}

/// Send SIGINT until the program ends; return its output.
fn stopped(mut child: Child, mut stderr: impl Read) -> Output {
    for _ in 0..100 {
        if child.try_wait().expect("a child").is_some() {
            break;
        }
        kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
        thread::sleep(Duration::from_millis(200));
    }
    let ended = child.try_wait().expect("a child").is_some();
    child.kill().expect("a child");
    let mut output = child.wait_with_output().expect("it ends");
    stderr.read_to_end(&mut output.stderr).expect("the rest");
    assert!(ended, "it goes on after 100 signals");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_that_was_stopped_says_so() {
    let server = Server::always(OK, || Then::Keep);
    let output = interrupted(&server, &["--json", "--require", "errors<1"]);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(
        text(&output.stderr).contains("tare-load: stopped early"),
        "{output:?}"
    );
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["stopped_early"], true);
    assert!(result["window_s"].as_f64().expect("a number") < 600.0);
}

#[test]
fn the_summary_of_a_run_that_was_stopped_says_so() {
    let server = Server::always(OK, || Then::Keep);
    let output = interrupted(&server, &[]);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let summary = text(&output.stdout);
    assert!(summary.contains(" s, stopped early: "), "{summary}");
}

#[test]
fn a_signal_ends_all_steps_and_the_cut_one_did_not_hold() {
    let server = Server::always(OK, || Then::Keep);
    let output = interrupted(&server, &["--steps", "100:1000:100", "--arrivals", "even"]);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(
        text(&output.stderr).contains("tare-load: stopped early"),
        "{output:?}"
    );
    let table = text(&output.stdout);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[1].ends_with("stopped early"), "{table}");
    assert_eq!(lines[2..], ["no rate held"], "{table}");
}

#[test]
fn a_further_signal_ends_the_drain() {
    let silent = Server::start(|_, _| Ok(Then::Keep));
    let output = interrupted(&silent, &["--timeout", "600s", "--json"]);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["load"]["unfinished"], 4);
}

#[test]
fn a_signal_in_the_handshake_before_a_run_ends_it_as_stopped() {
    let silent = bare::tcp("127.0.0.1", |mut stream| {
        let mut piece = [0; 1000];
        while stream.read(&mut piece)? > 0 {}
        Ok(())
    });
    let mut child = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .arg(format!("https://{silent}/"))
        .args(["-p", "auto", "--timeout", "600s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Before its handler stands, a signal ends it in another way.
    thread::sleep(Duration::from_secs(1));
    let stderr = child.stderr.take().expect("a pipe");
    let output = stopped(child, stderr);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let words = "tare-load: stopped by a signal before the run began";
    assert!(text(&output.stderr).contains(words), "{output:?}");
}
