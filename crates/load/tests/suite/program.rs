//! The program as users run it: conditions, exit codes, stepped rates, readers that go.

use std::process::{Command, Stdio};

use crate::common::program::{File, load, text};
use crate::common::{OK, Server, Then};
use serde_json::Value;

#[test]
fn conditions_decide_the_exit_code() {
    let server = Server::always(OK, || Then::Keep);
    let held = load(&server, &["--require", "p50<60s", "--require", "errors<1%"]);
    assert_eq!(held.status.code(), Some(0), "{}", text(&held.stderr));
    assert!(text(&held.stdout).contains("condition     p50<60s: holds (found "));
    let failed = load(&server, &["--require", "rate>1000000000", "--json"]);
    assert_eq!(failed.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&failed.stdout).expect("JSON");
    assert_eq!(result["conditions"][0]["ok"], false);
    let unclear = load(&server, &["--require", "p99"]);
    assert_eq!(unclear.status.code(), Some(2));
    assert!(text(&unclear.stderr).contains("write FIGURE<BOUND"));
}

#[test]
fn requests_without_an_answer_are_errors_to_conditions() {
    let silent = Server::start(|_, _| Ok(Then::Keep));
    let conditions = ["--require", "errors<1%", "--require", "errors<4"];
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
    assert_eq!(code(&["--require", "p50<60s"]), 1);
    assert_eq!(code(&["--require", "errors<50%"]), 0);
    assert_eq!(code(&["--require", "errors<10%"]), 1);
    assert_eq!(
        code(&["--require", "errors<50%", "--require", "rate>1000000000"]),
        1
    );
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
    let output = load(&server, &[&steps[..], &["--require", "rate<250"]].concat());
    let table = text(&output.stdout);
    assert!(
        table
            .lines()
            .nth(3)
            .expect("a line")
            .ends_with("did not hold"),
        "{table}"
    );
    assert!(
        table.contains("\n300/s did not hold: rate<250: FAILED (found "),
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
    for (line, rate) in lines.lines().zip(rates) {
        let step = &serde_json::from_str::<Value>(line).expect("JSON")["step"];
        let why = step["why"].as_array().expect("a list");
        assert_eq!(
            (&step["rate"], step["held"] == why.is_empty()),
            (&Value::from(rate), true)
        );
    }
    let never = ["--require", "rate<1", "--json"];
    let output = load(&server, &[&steps[..], &never].concat());
    let said = text(&output.stderr);
    assert!(
        said.contains("300/s did not hold: rate<1: FAILED"),
        "{said}"
    );
    for line in text(&output.stdout).lines() {
        let result: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(result["conditions"][0]["ok"], false, "{result}");
        let step = &result["step"];
        let why = step["why"][0].as_str().expect("a sentence");
        assert!(
            step["held"] == false && why.starts_with("rate<1: FAILED"),
            "{step}"
        );
    }
}

#[test]
fn a_rate_that_is_not_answered_in_the_window_does_not_hold() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        std::io::Write::write_all(stream, OK)?;
        Ok(Then::Keep)
    });
    // One connection carries 20 a second, and all 60 are answered before they time out.
    let short = [
        "--arrivals",
        "even",
        "-c",
        "1",
        "-d",
        "500ms",
        "--warmup",
        "0",
    ];
    let steps = ["--steps", "120:120:1", "--timeout", "1m"];
    let output = load(&server, &[&steps[..], &short].concat());
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{table}");
    let row: Vec<&str> = table.lines().nth(1).expect("a row").split(' ').collect();
    let row: Vec<&str> = row.into_iter().filter(|word| !word.is_empty()).collect();
    let answered: f64 = row[1].parse().expect("a number");
    assert!(row[0] == "120" && answered <= 20.0, "{table}");
    assert!(
        table.contains("120/s did not hold: 120 requests/s were due"),
        "{table}"
    );
    let open = ["--rate", "120", "--timeout", "1m", "--require", "rate>30"];
    let output = load(&server, &[&open[..], &short].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
}

#[test]
fn threads_have_rates_and_gaps_of_their_own() {
    let server = Server::always(OK, || Then::Keep);
    let load = |more: &[&str]| {
        let url = format!("http://{}/", server.address);
        let short = [
            "-t", "2", "-c", "4", "-d", "3s", "--warmup", "0", "--ramp", "8",
        ];
        let mut program = Command::new(env!("CARGO_BIN_EXE_tare-load"));
        let output = program.arg(url).args(short).args(more).output();
        text(&output.expect("it starts").stdout)
    };
    let result: Value = serde_json::from_str(&load(&["--json"])).expect("JSON");
    let threads = |name: &str| result["thread_seconds"][name].as_f64().expect("a number");
    let (count, mean) = (threads("count"), threads("mean"));
    assert!((4.0..=6.0).contains(&count), "{result}");
    // The last second has answers that came as the window closed.
    let answers = result["total"]["requests"].as_f64().expect("a number");
    assert!(mean > 0.0 && count * mean <= answers, "{result}");
    assert!(
        threads("max") >= mean && threads("within") > 0.0,
        "{result}"
    );
    assert_eq!(result["ramp"]["thread_gap_us"], 250_000.0, "{result}");
    let told = load(&[]);
    assert!(
        told.contains(
            "ramp          8 connections a second; each thread opens one every 250.00 ms"
        ),
        "{told}"
    );
    assert!(told.contains("\nthreads       "), "{told}");
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
