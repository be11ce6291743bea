//! A replay's expected answers, and what is said of its end.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::common::program::{File, text};
use crate::common::{OK, Server, Then};

fn log(name: &str, lines: &str) -> File {
    let file = File::new(name);
    std::fs::write(&file.0, lines).expect("a file");
    file
}

#[test]
fn a_status_that_is_none_is_not_expected() {
    let server = Server::always(OK, || Then::Keep);
    let lines = r#"{"time": 1, "uri": "/", "status": 0}
{"time": 1.1, "uri": "/", "status": 1200}
"#;
    let file = log("no-status", lines);
    let output = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .arg(format!("http://{}", server.address))
        .args(["--replay", file.name()])
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn a_log_is_replayed_to_its_end_however_long_it_lasts() {
    let server = Server::always(OK, || Then::Keep);
    let long = log(
        "long",
        "{\"time\": 1, \"uri\": \"/\"}\n{\"time\": 7201, \"uri\": \"/\"}\n",
    );
    let short = log(
        "short",
        "{\"time\": 1, \"uri\": \"/\"}\n{\"time\": 101, \"uri\": \"/\"}\n",
    );
    for file in [long, short] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tare-load"))
            .arg(format!("http://{}", server.address))
            .args(["--replay", file.name()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let told = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut told = told.map_while(Result::ok);
        let line = told.find_map(|line| Some(line.strip_prefix("duration ")?.trim().to_string()));
        child.kill().expect("a child");
        child.wait().expect("a child");
        assert_eq!(line.as_deref(), Some("until the log ends"));
    }
}
