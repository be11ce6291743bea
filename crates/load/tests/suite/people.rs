//! The output for people: the description of a run, its figures, and remedies for failures.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::common::program::{File, load, text};
use crate::common::{OK, Server, Then};

const MISSING: &[u8] = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n";
const SHORT: [&str; 4] = ["-d", "1s", "--warmup", "0"];

fn people(server: &Server, arguments: &[&str]) -> String {
    text(&load(server, &[&SHORT[..], arguments].concat()).stdout)
}

fn program(arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tare-load"));
    program.args(arguments).output().expect("it starts")
}

/// An address at which nothing listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").to_string()
}

#[test]
fn a_run_is_described_before_its_figures() {
    let server = Server::always(OK, || Then::Keep);
    let told = people(&server, &[]);
    let expected = format!(
        "target        GET http://{}/\n\
         protocol      HTTP/1.1, not encrypted\n\
         loop          closed: each answer brings the next request\n\
         connections   4, on 1 thread\n\
         duration      1 s\n\n",
        server.address
    );
    assert!(told.starts_with(&expected), "{told}");
    let open = people(&server, &["--rate", "50", "--arrivals", "even"]);
    assert!(open.contains("loop          open: 50 requests/s by the clock, evenly spaced\n"));
    let json = people(&server, &["--json"]);
    assert!(json.starts_with("{\"event\":\"result\""), "{json}");
}

#[test]
fn the_labels_are_those_of_the_loop() {
    let server = Server::always(OK, || Then::Keep);
    let closed = people(&server, &[]);
    assert!(!closed.contains("send lag") && !closed.contains("service"));
    let open = people(&server, &["--rate", "50", "--arrivals", "even"]);
    assert!(
        open.contains("     latency     service        ttfb"),
        "{open}"
    );
    for told in [&closed, &open] {
        for row in ["mean ", "stdev ", "± stdev ", "p50 ", "max "] {
            let begins = |line: &str| line.starts_with(row);
            assert!(told.lines().any(begins), "{row} in {told}");
        }
        assert!(told.contains("latency up to      answers\n"), "{told}");
        assert!(told.contains('■') && !told.contains('\x1b'), "{told}");
    }
    assert!(open.contains("send lag      how late the generator itself sent\n"));
}

#[test]
fn a_count_says_if_it_is_that_of_the_whole_run() {
    let server = Server::always(OK, || Then::Keep);
    let bare = people(&server, &["--rounds", "1"]);
    assert!(bare.contains("\n1 request in "), "{bare}");
    assert!(bare.contains("\nstatuses      200: 1\n"), "{bare}");
    let warmed = text(&load(&server, &["-d", "300ms", "--warmup", "300ms"]).stdout);
    let statuses = warmed.lines().find(|line| line.starts_with("statuses"));
    assert!(
        statuses.is_some_and(|line| line.ends_with(", of the whole run")),
        "{warmed}"
    );
}

#[test]
fn nobody_at_the_address_is_asked_about() {
    let address = nobody();
    let url = format!("http://{address}/");
    let question = format!("is anything listening on {address}?");
    let output = program(&[&[url.as_str()][..], &SHORT].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains(&question), "{output:?}");
    // The place that a connection really goes to.
    let redirect = format!("a.example:80:{address}");
    let away = ["http://a.example/", "--connect-to", &redirect];
    let output = program(&[&away[..], &SHORT].concat());
    assert!(text(&output.stdout).contains(&question), "{output:?}");
    let file = File::holding("dead", format!("http://{address}/a\n"));
    let output = program(&[&["--requests", file.name()][..], &SHORT].concat());
    assert!(text(&output.stdout).contains(&question), "{output:?}");
    let steps = ["--steps", "10:10:1", "--timeout", "200ms"];
    let output = program(&[&[url.as_str()][..], &steps, &SHORT].concat());
    assert!(text(&output.stderr).contains(&question), "{output:?}");
}

#[test]
fn a_load_of_which_nothing_was_answered_is_not_well() {
    // Its kernel takes connections, and nobody makes the handshake.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("https://{}/", listener.local_addr().expect("an address"));
    let output = program(&[url.as_str(), "-d", "300ms", "--warmup", "0"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("no request was answered: no connection was ready"));
}

#[test]
fn a_server_that_answers_is_not_asked_about() {
    let server = Server::always(OK, || Then::Keep);
    let told = people(&server, &[]);
    assert!(!told.contains("is anything listening"), "{told}");
}

#[test]
fn an_unexpected_status_has_a_remedy() {
    let server = Server::always(MISSING, || Then::Keep);
    let remedy = "404: give --expect-status 404 if it is meant\n";
    assert!(people(&server, &[]).contains(remedy));
    assert!(people(&server, &["--expect-status", "204"]).contains(remedy));
    let meant = people(&server, &["--expect-status", "404"]);
    assert!(!meant.contains("--expect-status"), "{meant}");
}

#[test]
fn the_client_s_cpu_time_is_that_of_all_answers() {
    let server = Server::always(MISSING, || Then::Keep);
    let told = people(&server, &[]);
    let line = told.lines().find(|line| line.starts_with("client CPU "));
    let figure = line.expect("a line").split_whitespace().nth(2);
    let figure = figure.and_then(|word| word.parse::<f64>().ok());
    assert!(figure.is_some_and(|us| us > 0.0), "{told}");
}

#[test]
fn a_chosen_status_that_is_right_stays_without_advice() {
    let number = AtomicU64::new(0);
    let server = Server::start(move |stream, _| {
        let missing = number.fetch_add(1, SeqCst).is_multiple_of(4);
        let right = b"HTTP/1.1 204 No Content\r\n\r\n";
        stream.write_all(if missing { MISSING } else { right })?;
        Ok(Then::Keep)
    });
    let rounds = ["-r", "40", "-d", "60s"];
    let chosen = ["--expect-status", "204"];
    let told = people(&server, &[&rounds[..], &chosen].concat());
    assert!(told.contains("× status: unexpected status"), "{told}");
    assert!(!told.contains("--expect-status"), "{told}");
    let told = people(&server, &rounds);
    let remedy = "204,404: give --expect-status 204,404 if they are meant\n";
    assert!(told.contains(remedy), "{told}");
}

#[test]
fn redirects_are_said_not_to_be_followed() {
    let moved = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
    let server = Server::always(moved, || Then::Keep);
    let told = people(&server, &[]);
    let remedy = "302 (redirects are not followed): give --expect-status 302 if it is meant";
    assert!(told.contains(remedy), "{told}");
}

#[test]
fn offered_and_achieved_are_told_apart() {
    let server = Server::always(MISSING, || Then::Keep);
    let told = people(&server, &["--rate", "100", "--arrivals", "even"]);
    let words: Vec<&str> = told.split_whitespace().collect();
    let told = words.join(" ");
    let wanted = "requests/s were due by the clock, 0/s were answered correctly in the window: ";
    assert!(told.contains(wanted), "{told}");
    let first = "requests due in 1.00 s: 0 answered/s in the window";
    assert!(told.contains(first) && !told.contains("req/s"), "{told}");
    let silent = Server::start(|_, _| Ok(Then::Keep));
    let open = ["--rate", "100", "--arrivals", "even", "--timeout", "500ms"];
    let told = people(&silent, &open);
    assert!(told.contains("offered       "), "{told}");
    let closed = people(&server, &[]);
    assert!(!closed.contains("offered  "), "{closed}");
}

#[test]
fn an_answer_that_takes_too_long_names_the_limit() {
    let silent = Server::start(|_, _| Ok(Then::Keep));
    let told = people(&silent, &["--timeout", "100ms"]);
    let remedy = "an answer may take 100.00 ms: --timeout TIME allows more";
    assert!(told.contains(remedy), "{told}");
}

#[test]
fn a_server_without_tls_is_asked_about() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Whatever is said, it is no TLS.
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let url = format!("https://{address}/");
    let output = program(&[&[url.as_str(), "--insecure"][..], &SHORT].concat());
    let told = text(&output.stdout);
    assert!(told.contains("certificates  not verified"), "{told}");
    assert!(
        told.contains(&format!("does {address} speak TLS?")),
        "{told}"
    );
}

#[test]
fn a_rate_too_low_for_any_request_is_said_to_be_so() {
    let server = Server::always(OK, || Then::Keep);
    let output = load(&server, &["--rate", "0.0001", "-d", "200ms"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("tare-load: no request was due: "), "{said}");
}

#[test]
fn a_standard_error_that_takes_nothing_leaves_the_result() {
    let server = Server::always(OK, || Then::Keep);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let url = format!("http://{}/", server.address);
    let output = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .args([&url, "-c", "1", "-d", "1200ms", "--warmup", "0"])
        .stderr(full.expect("a device"))
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stdout).contains(" req/s"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_window_without_an_answer_is_not_well() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(std::time::Duration::from_millis(300));
        stream.write_all(OK)?;
        Ok(Then::Keep)
    });
    let output = load(&server, &["-d", "50ms", "--warmup", "0"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("no answer came within the window"), "{said}");
}

#[test]
fn what_was_due_of_a_fixed_number_is_that_number() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        stream.write_all(MISSING)?;
        Ok(Then::Keep)
    });
    let even = [
        "-r",
        "10",
        "--rate",
        "1000",
        "--arrivals",
        "even",
        "-c",
        "1",
    ];
    let told = text(&load(&server, &even).stdout).replace("\n              ", " ");
    let due =
        "10 requests were due by the clock, 0 were answered correctly in the window: 10 failed";
    assert!(told.contains(due), "{told}");
    let profile = ["--profile", "ramp:2000:10s"];
    let told = text(&load(&server, &[&even[..], &profile].concat()).stdout);
    assert!(
        told.contains("open: by the clock, at a rate that changes by --profile\n"),
        "{told}"
    );
}

#[test]
fn requests_for_which_the_time_was_too_short_are_said_to_be_missing() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        stream.write_all(OK)?;
        Ok(Then::Keep)
    });
    let told = people(&server, &["-r", "100000", "-d", "200ms"]);
    assert!(
        told.contains(" of 100000 were made before --duration ended\n"),
        "{told}"
    );
    let told = people(&server, &["-r", "4", "-d", "60s"]);
    assert!(!told.contains("were made"), "{told}");
}

#[test]
fn a_late_first_byte_has_a_remedy_of_its_own() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        stream.write_all(OK)?;
        Ok(Then::Keep)
    });
    let told = text(&load(&server, &["-r", "4", "--ttfb-timeout", "10ms"]).stdout);
    assert!(
        told.contains("its first byte may take 10.00 ms: --ttfb-timeout TIME"),
        "{told}"
    );
    assert!(!told.contains("--timeout TIME"), "{told}");
}
