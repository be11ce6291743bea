//! What the program writes beside its result: seconds, histograms, tables, figures to be fetched, answers.

use std::process::{Command, Stdio};

use crate::common::program::{File, load, text};
use crate::common::{OK, Server, Then};
use serde_json::Value;

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
    assert!(said.contains(&answer.repeat(2)), "{said}");
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
    assert!(text(&output.stderr).contains("--show: h2 has no text to show; take h1"));
}

#[test]
fn the_times_of_each_answer_are_written() {
    let server = Server::always(OK, || Then::Keep);
    let file = File::new("times");
    let clock = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let begun = clock();
    let open = [
        "-r", "500", "-c", "3", "-d", "300ms", "--warmup", "100ms", "--json",
    ];
    let output = load(&server, &[&open[..], &["--times", file.name()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = file.text();
    let (heading, rows) = lines.split_once('\n').expect("a heading");
    assert_eq!(
        heading,
        "target,port,opened_ns,connected_ns,intended_ns,sent_ns,answered_ns,sent_bytes,answered_bytes"
    );
    let rows: Vec<Vec<u64>> = rows
        .lines()
        .map(|row| {
            row.split(',')
                .map(|cell| cell.parse().expect("a number"))
                .collect()
        })
        .collect();
    assert_eq!(rows.len() as u64, server.answered(), "warm-up included");
    let ports: std::collections::BTreeSet<u64> = rows.iter().map(|row| row[1]).collect();
    assert!(ports.len() == 3 && !ports.contains(&0));
    for row in &rows {
        let [0, _, opened, connected, intended, sent, answered, 0, 0] = row[..] else {
            panic!("{row:?}");
        };
        assert!(
            begun <= opened && opened <= connected && connected <= sent,
            "{row:?}"
        );
        assert!(
            intended <= sent && sent < answered && answered <= clock(),
            "{row:?}"
        );
    }
}

#[test]
fn a_file_that_fails_at_the_end_leaves_the_result() {
    let server = Server::always(OK, || Then::Keep);
    let full = ["-r", "40", "--times", "/dev/full"];
    let output = load(&server, &full);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).contains("40 requests in "),
        "{}",
        text(&output.stdout)
    );
    let said = text(&output.stderr);
    assert!(
        said.contains("/dev/full could not be written to its end"),
        "{said}"
    );
    let output = load(&server, &[&full[..], &["--json"]].concat());
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["outcomes"]["requests"], 40.0);
    let output = load(&server, &["--csv", "/dev/full"]);
    assert!(text(&output.stderr).contains("/dev/full cannot be written"));
}

#[test]
fn a_file_whose_reader_goes_leaves_the_result() {
    let server = Server::always(OK, || Then::Keep);
    let pipe = File::new("pipe");
    let made = Command::new("mkfifo").arg(&pipe.0).status();
    assert!(made.expect("it starts").success());
    let file = pipe.0.clone();
    // It goes behind the heading.
    let reader = std::thread::spawn(move || {
        let mut heading = [0; 10];
        std::io::Read::read_exact(&mut std::fs::File::open(file)?, &mut heading)
    });
    let output = load(
        &server,
        &["--csv", pipe.name(), "-d", "1s", "--warmup", "0"],
    );
    reader.join().expect("no panic").expect("a reader");
    assert!(
        text(&output.stdout).contains(" requests in "),
        "{}",
        text(&output.stdout)
    );
    let said = text(&output.stderr);
    assert!(said.contains("could not be written to its end"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn times_that_cannot_be_written_are_refused_before_the_load() {
    let server = Server::always(OK, || Then::Keep);
    let output = load(&server, &["--times", "/proc/none/times"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--times: /proc/none/times cannot be written"));
    assert_eq!(server.answered(), 0);
}
