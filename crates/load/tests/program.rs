//! The program as users run it: conditions, files beside the result, stepped rates.

mod common;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use common::{OK, Server, Then};
use serde_json::Value;

fn load(server: &Server, arguments: &[&str]) -> Output {
    let url = format!("http://{}/", server.address);
    let defaults = ["-c", "4", "-d", "1s", "--warmup", "100ms"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare-load"));
    command.arg(url).args(defaults).args(arguments);
    command.output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file's name, for as long as it is held.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let name = format!("tare-load-{}-{name}", std::process::id());
        File(std::env::temp_dir().join(name))
    }

    fn name(&self) -> &str {
        self.0.to_str().expect("a plain name")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).expect("it was written")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn conditions_decide_the_exit_code() {
    let server = Server::always(OK, || Then::Keep);
    let held = load(&server, &["--fail-on", "p50<60s", "--fail-on", "errors<1%"]);
    assert_eq!(held.status.code(), Some(0), "{}", text(&held.stderr));
    assert!(text(&held.stdout).contains("condition     p50<60s: holds (found "));
    let failed = load(&server, &["--fail-on", "rate>1000000000", "--json"]);
    assert_eq!(failed.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&failed.stdout).expect("JSON");
    assert_eq!(result["conditions"][0]["ok"], false);
    let unclear = load(&server, &["--fail-on", "p99"]);
    assert_eq!(unclear.status.code(), Some(2));
    assert!(text(&unclear.stderr).contains("write FIGURE<BOUND"));
}

#[test]
fn requests_without_an_answer_are_errors_to_conditions() {
    let silent = Server::start(|_, _| Ok(Then::Keep));
    let conditions = ["--fail-on", "errors<1%", "--fail-on", "errors<4"];
    let short = ["-d", "200ms", "--warmup", "0", "--timeout", "1h", "--json"];
    // The drain is as long as the time limit; the second signal ends it.
    let url = format!("http://{}/", silent.address);
    let mut child = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .args([&url, "-c", "4"])
        .args(conditions)
        .args(short)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    while child.try_wait().expect("a child").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a child");
    }
    let output = child.wait_with_output().expect("it ends");
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["load"]["unfinished"], 4);
    for (condition, found) in [(0, 1.0), (1, 4.0)] {
        assert_eq!(result["conditions"][condition]["ok"], false, "{result}");
        assert_eq!(result["conditions"][condition]["found"], found, "{result}");
    }
}

#[test]
fn a_condition_on_errors_decides_about_errors() {
    let server = Server::start(|stream, number| {
        let bad = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
        std::io::Write::write_all(stream, if number % 4 == 0 { bad } else { OK })?;
        Ok(Then::Keep)
    });
    let code = |arguments: &[&str]| {
        let short = ["-d", "300ms", "--warmup", "0"];
        let output = load(&server, &[&short[..], arguments].concat());
        output.status.code().expect("an exit")
    };
    assert_eq!(code(&[]), 1);
    assert_eq!(code(&["--fail-on", "p50<60s"]), 1);
    assert_eq!(code(&["--fail-on", "errors<50%"]), 0);
    assert_eq!(code(&["--fail-on", "errors<10%"]), 1);
    assert_eq!(
        code(&["--fail-on", "errors<50%", "--fail-on", "rate>1000000000"]),
        1
    );
}

#[test]
fn seconds_are_written_beside_the_result() {
    let server = Server::always(OK, || Then::Keep);
    let (series, log) = (File::new("series"), File::new("log"));
    let output = load(
        &server,
        &[
            "--series",
            series.name(),
            "--hdr-log",
            log.name(),
            "-d",
            "2s",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let seconds: Vec<Value> = series
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .filter(|line: &Value| line["event"] == "progress")
        .collect();
    assert!(seconds.len() >= 2 && seconds.iter().all(|second| second["rate"].is_u64()));
    let log = log.text();
    let lines = log.lines().filter(|line| !line.starts_with('#'));
    assert!(lines.clone().count() >= 2 && lines.clone().all(|line| line.contains(",HISTFAAA")));
}

/// The number of latencies in a log of HdrHistogram's.
fn logged(log: &str) -> u64 {
    use base64::Engine as _;
    use hdrhistogram::serialization::Deserializer;
    let lines = log.lines().filter(|line| !line.starts_with('#'));
    let count = |line: &str| {
        let digits = line.rsplit(',').next().expect("a histogram");
        let bytes = base64::engine::general_purpose::STANDARD.decode(digits);
        let bytes = bytes.expect("base64");
        let read = Deserializer::new().deserialize::<u64, _>(&mut bytes.as_slice());
        read.expect("a histogram").len()
    };
    lines.map(count).sum()
}

#[test]
fn what_follows_the_last_whole_second_is_written_too() {
    let server = Server::always(OK, || Then::Keep);
    let (series, log) = (File::new("cut-series"), File::new("cut-log"));
    for threads in ["1", "3"] {
        let files = ["--series", series.name(), "--hdr-log", log.name()];
        let rest = ["-d", "1300ms", "--warmup", "0", "-t", threads, "--json"];
        let output = load(&server, &[&files[..], &rest].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let answers = result["total"]["requests"].as_u64().expect("a count");
        let lines: Vec<Value> = series
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .filter(|line: &Value| line["event"] == "progress")
            .collect();
        let rates = lines
            .iter()
            .map(|line| line["rate"].as_u64().expect("a count"));
        assert_eq!(rates.sum::<u64>(), answers);
        let ends: Vec<f64> = lines
            .iter()
            .map(|line| line["t_s"].as_f64().expect("a time"))
            .collect();
        assert_eq!(ends[0], 1.0);
        assert!(ends.len() >= 2 && ends[1] >= 1.3, "{ends:?}");
        assert_eq!(logged(&log.text()), answers);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let server = Server::always(OK, || Then::Keep);
    let output = load(&server, &["--series", "/no/such/folder/file"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/no/such/folder/file cannot be written"));
}

#[test]
fn stepped_rates_find_the_highest_that_holds() {
    let server = Server::always(OK, || Then::Keep);
    let steps = [
        "--steps",
        "100:300:100",
        "--arrivals",
        "even",
        "-d",
        "300ms",
    ];
    let output = load(&server, &[&steps[..], &["--fail-on", "rate<250"]].concat());
    let table = text(&output.stdout);
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(
        table
            .lines()
            .nth(3)
            .expect("a line")
            .ends_with("did not hold"),
        "{table}"
    );
    let output = load(&server, &[&steps[..], &["--json"]].concat());
    let lines = text(&output.stdout);
    let rates: Vec<f64> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["load"]["rate"].clone())
        .map(|rate| rate.as_f64().expect("a number"))
        .collect();
    assert_eq!(rates, [100.0, 200.0, 300.0]);
}

#[test]
fn a_reader_that_has_gone_ends_nothing_in_a_panic() {
    let server = Server::always(OK, || Then::Keep);
    let steps = ["--steps", "100:200:100"];
    for arguments in [
        &[][..],
        &["--json"],
        &steps,
        &[&steps[..], &["--json"]].concat(),
    ] {
        let (url, short) = (
            format!("http://{}/", server.address),
            ["-c", "4", "-d", "200ms"],
        );
        let mut child = Command::new(env!("CARGO_BIN_EXE_tare-load"))
            .arg(url)
            .args(short)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        // On a busy machine no rate may hold.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let errors = text(&output.stderr);
        assert!(
            !errors.contains("panicked") && !errors.contains("pipe"),
            "{errors}"
        );
    }
}

#[test]
fn a_reader_that_goes_during_the_run_ends_it() {
    let server = Server::always(OK, || Then::Keep);
    let spec = File::new("gone.json");
    let json = format!(
        r#"{{"url": "http://{}/", "duration_s": 600}}"#,
        server.address
    );
    std::fs::write(&spec.0, json).expect("a writable folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .args(["--spec", spec.name()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    // As a shell reports a program that SIGPIPE ended.
    assert_eq!(output.status.code(), Some(141), "{output:?}");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn reasons_of_errors_are_told() {
    let server = Server::always("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", || {
        Then::Close
    });
    let output = load(&server, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("× read: content-length is not a number"));
}

#[test]
fn a_rate_is_read_from_a_file() {
    let server = Server::always(OK, || Then::Keep);
    let file = File::new("rates");
    std::fs::write(&file.0, "# seconds, rate\n0, 200\n1;400\n").expect("a file");
    let profile = format!("file:{}", file.name());
    let even = ["--rate", "100", "--arrivals", "even", "--json", "--profile"];
    let output = load(&server, &[&even[..], &[profile.as_str()]].concat());
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let offered = result["load"]["offered"].as_u64().expect("a count");
    assert!(offered.abs_diff(300) <= 1, "{offered}");
    std::fs::write(&file.0, "0 200\n1 x\n").expect("a file");
    let output = load(&server, &[&even[..], &[profile.as_str()]].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains(":2: \"1 x\"; write `SECONDS RATE` a line"),
        "{said}"
    );
}

#[test]
fn seconds_are_written_as_csv() {
    let server = Server::always(OK, || Then::Keep);
    let file = File::new("csv");
    let output = load(&server, &["--csv", file.name(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let table = file.text();
    let mut lines = table.lines();
    assert_eq!(
        lines.next(),
        Some("t_s,phase,rate,in_flight,errors,p50_us,p99_us")
    );
    let rates = lines.map(|line| line.split(',').nth(2).expect("a column"));
    let sum: u64 = rates
        .map(|rate| rate.parse::<u64>().expect("a count"))
        .sum();
    assert_eq!(sum, result["total"]["requests"].as_u64().expect("a count"));
}

#[test]
fn figures_are_served_while_the_run_lasts() {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    let server = Server::always(OK, || Then::Keep);
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|held| held.local_addr());
    let port = free.expect("a free port").port().to_string();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .arg(format!("http://{}/", server.address))
        .args(["-c", "1", "-d", "600s", "-q", "100", "--metrics", &port])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let seen = loop {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let Ok(mut stream) = TcpStream::connect(format!("127.0.0.1:{port}")) else {
            assert!(child.try_wait().expect("a child").is_none(), "it ended");
            continue;
        };
        let mut page = String::new();
        let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
        asked
            .and_then(|()| stream.read_to_string(&mut page))
            .expect("an answer");
        let count = page
            .lines()
            .find_map(|line| line.strip_prefix("tare_load_latency_seconds_count "));
        if count.is_some_and(|count| count != "0") {
            break page;
        }
    };
    assert!(seen.contains("\ntare_load_in_flight "), "{seen}");
    // Another run cannot have the same port.
    let output = load(&server, &["--metrics", &port]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("cannot be served"),
        "{}",
        text(&output.stderr)
    );
    child.kill().expect("a child");
    child.wait().expect("a child");
}

#[test]
fn answers_are_shown_as_they_came() {
    let body = format!("\x1b[2J{}", "x".repeat(19_996));
    let whole = format!("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n{body}");
    let large = Server::always(whole, || Then::Keep);
    let small = Server::always(OK, || Then::Keep);
    let short = ["-r", "40", "--show", "2"];
    let output = load(&small, &short);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let answer = "\nan answer:\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok\n";
    assert!(said.starts_with(&answer.repeat(2)), "{said}");
    assert_eq!(said.matches("an answer").count(), 2);
    let said = text(&load(&large, &["-r", "9", "--show", "1"]).stdout);
    assert!(said.contains("\n\n\\u{1b}[2Jxx"), "{said}");
    let rest = 20_000 + "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n".len() - 16_384;
    assert!(
        said.contains(&format!("xx\n… {rest} bytes more\n")),
        "{}",
        &said[16_000..]
    );
    let output = load(&small, &[&short[..], &["--json"]].concat());
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["samples"].as_array().map(Vec::len), Some(2));
    let output = load(&small, &["-p", "h2", "--show", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("show: h2 has no text to show; take h1"));
}
