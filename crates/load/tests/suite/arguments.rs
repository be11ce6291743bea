//! Arguments that cannot be meant: each is refused with a sentence before anything is sent.

use std::process::Command;

use crate::common::program::File;

/// Asserts that the program refuses these arguments, with `words` in its sentence.
fn assert_refused(arguments: &[&str], words: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .args(["-c", "1", "-d", "100ms", "--warmup", "0"])
        .args(arguments)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(words), "{arguments:?}: {said}");
}

#[test]
fn a_body_that_no_memory_holds_is_refused() {
    let words = "bytes; write at most 1073741824";
    for size in ["18446744073709551615", "1073741825"] {
        for url in [
            "http://127.0.0.1:1/",
            "tcp://127.0.0.1:1",
            "ws://127.0.0.1:1/",
        ] {
            assert_refused(&[url, "-s", size], words);
        }
    }
}

#[test]
fn a_path_behind_a_unix_socket_is_a_path() {
    for path in ["/a b", "/a\r\nX: y", "/\u{7f}"] {
        assert_refused(&[&format!("http://unix:/nowhere:{path}")], "url: ");
    }
}

#[test]
fn what_a_protocol_has_no_place_for_is_refused() {
    let tcp = "tcp://127.0.0.1:1";
    let ws = "ws://127.0.0.1:1/";
    for (arguments, words) in [
        (&[tcp, "-H", "X-A: b"][..], "--header: "),
        (&[tcp, "--user", "a:b"], "--user: "),
        (&[tcp, "-X", "PUT"], "--method: "),
        (&[tcp, "--cache-header", "X-Cache"], "--cache-header: "),
        (&[tcp, "--keys", "9"], "--keys: "),
        (&[tcp, "--expect-status", "204"], "--expect-status: "),
        (&[tcp, "--expect-length", "9"], "--expect-length: "),
        (
            &[tcp, "--body", "x"],
            "--body: not a size above 0; write --size BYTES",
        ),
        (&[ws, "-X", "PUT"], "--method: "),
        (&[ws, "--cache-header", "X-Cache"], "--cache-header: "),
        (&[ws, "--expect-status", "101"], "--expect-status: "),
        (
            &["http://127.0.0.1:1/a", "-p", "grpc", "-X", "PUT"],
            "--method: ",
        ),
        (
            &["https://127.0.0.1:1/", "-p", "h3", "--congestion", "reno"],
            "--congestion: ",
        ),
    ] {
        assert_refused(arguments, words);
    }
    let digest = "0".repeat(64);
    assert_refused(&[ws, "--expect-sha256", &digest], "--expect-sha256: ");
}

#[test]
fn a_tunnel_is_not_asked_for() {
    for protocol in ["h1", "h2"] {
        let arguments = ["http://127.0.0.1:1/", "-p", protocol, "-X", "CONNECT"];
        assert_refused(&arguments, "method: CONNECT asks for a tunnel");
    }
}

#[test]
fn what_a_log_would_not_use_is_refused_beside_it() {
    let url = "http://127.0.0.1:1/";
    for given in [
        &["--method", "GET"][..],
        &["--body", "x"],
        &["--body-file", "x"],
        &["--size", "3"],
        &["--keys", "3"],
        &["--zipf", "1"],
        &["--requests", "x"],
        &["--in-order"],
        &["--sequence"],
        &["--cookies"],
        &["--weights", "1"],
        &["--rate", "5"],
        &["--qps", "5"],
        &["--steps", "1:2:1"],
        &["--arrivals", "even"],
        &["--profile", "ramp:5:1s"],
        &["--think", "1s"],
        &["--serial"],
    ] {
        let arguments = [&[url, "--replay", "access.log"], given].concat();
        assert_refused(&arguments, "cannot be used with");
        assert_refused(&arguments, given[0]);
    }
    let path = ["http://127.0.0.1:1/api", "--replay", "access.log"];
    assert_refused(&path, "has a path, but a log has its own");
}

#[test]
fn what_is_about_a_log_needs_one() {
    for given in [&["--speed", "2"][..], &["--loop"], &["--log-format", "har"]] {
        for pace in [&["--rate", "5"][..], &["--qps", "5"], &[]] {
            let arguments = [&["http://127.0.0.1:1/"], given, pace].concat();
            assert_refused(&arguments, "--replay <FILE>");
        }
    }
}

#[test]
fn what_would_change_nothing_is_refused() {
    let url = "http://127.0.0.1:1/";
    let socket = "http://unix:/nowhere:/";
    for (arguments, words) in [
        (&[url, "--keys", "5"][..], "--keys: no URL has {key}"),
        (&[url, "--serial", "-m", "5"], "depth: 5 requests at a time"),
        (
            &[url, "--connect-to", "127.0.0.1:2:127.0.0.1:1"],
            "--connect-to: no URL is at 127.0.0.1:2",
        ),
        (
            &[url, "--resolve", "h:1:127.0.0.1", "--connect-to", "h:1:h:2"],
            "--connect-to: both 127.0.0.1:1 and h:2 for h:1",
        ),
        (&[socket, "-4"], "--ipv4: a Unix socket"),
        (
            &[socket, "--sources", "127.0.0.1"],
            "--sources: a Unix socket",
        ),
        (
            &[socket, "--congestion", "reno"],
            "--congestion: a Unix socket",
        ),
    ] {
        assert_refused(arguments, words);
    }
}

#[test]
fn steps_that_cannot_be_made_are_refused_before_the_first() {
    let url = "http://127.0.0.1:1/";
    for (steps, words) in [
        ("1:5000:1", "more than 1000 steps; write a larger BY"),
        ("5:1:1", "TO not below it"),
        ("1:inf:1", "TO not below it"),
        ("1:2:nan", "TO not below it"),
        (
            "1:20000000:19999999",
            "--steps: 20000000 is more than 10000000",
        ),
    ] {
        assert_refused(&[url, "--steps", steps], words);
    }
}

#[test]
fn times_of_no_length_are_refused() {
    let url = "http://127.0.0.1:1/";
    for option in [
        "--timeout",
        "--connect-timeout",
        "--ttfb-timeout",
        "--warmup",
    ] {
        assert_refused(&[url, option, "0.0000000001"], "is out of range");
    }
    assert_refused(&[url, "--metrics", "0"], "with a port above 0");
}

#[test]
fn a_limit_that_another_one_forestalls_is_refused() {
    let url = "http://127.0.0.1:1/";
    let words = "--ttfb-timeout: 10 s, and a whole answer has 5 s; write at most that, or more for";
    assert_refused(&[url, "--ttfb-timeout", "10s"], words);
    assert_refused(&[url, "--timeout", "0"], "--timeout: 0 is not above 0");
    let words = "--ttfb-timeout: 0.2 s, and a whole answer has 0.1 s";
    let both = ["--ttfb-timeout", "200ms", "--timeout", "100ms"];
    assert_refused(&[&[url][..], &both].concat(), words);
}

#[test]
fn nothing_that_would_send_is_refused() {
    let url = "http://127.0.0.1:1/";
    let words = "--connections: 0 connections; write how many there are";
    assert_refused(&[url, "--connections", "0"], words);
    let words = "--threads: 0 threads; write how many send requests";
    assert_refused(&[url, "--threads", "0"], words);
}

#[test]
fn a_pause_between_requests_needs_one_request_at_a_time() {
    let arguments = ["http://127.0.0.1:1/", "--think", "1s", "-m", "2"];
    assert_refused(&arguments, "depth: ");
}

#[test]
fn more_connections_than_a_process_can_number_are_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .args(["http://127.0.0.1:1/", "-c", "18446744073709551615"])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("open files, but the limit is"), "{said}");
}

#[test]
fn cpus_without_a_thread_are_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .args([
            "http://127.0.0.1:1/",
            "--cpus",
            "0,0,0",
            "-c",
            "1",
            "-r",
            "1",
        ])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let words = "--cpus: 2 of 3 CPUs get no worker: --threads is 1";
    assert!(said.contains(words), "{said}");
}

#[test]
fn the_help_keeps_within_a_terminal() {
    for columns in [80, 60] {
        let output = Command::new(env!("CARGO_BIN_EXE_tare-load"))
            .arg("--help")
            .env("COLUMNS", columns.to_string())
            .output()
            .expect("it starts");
        let help = String::from_utf8_lossy(&output.stdout);
        let long = |line: &&str| line.chars().count() > columns;
        assert_eq!(help.lines().find(long), None);
    }
}

#[test]
fn what_no_connection_can_carry_is_refused() {
    let (http, https) = ("http://127.0.0.1:1/", "https://127.0.0.1:1/");
    for protocol in ["h1", "h2", "h3"] {
        let url = if protocol == "h3" { https } else { http };
        for depth in ["100001", "100000000", "18446744073709551615"] {
            assert_refused(&[url, "-p", protocol, "-m", depth], "write at most 100000");
        }
    }
    for tls in [
        ["--tls-version", "1.2"],
        ["--cipher", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
    ] {
        let words = format!("{}: ", tls[0]);
        assert_refused(&[&[https, "-p", "h3"][..], &tls].concat(), &words);
    }
}

#[test]
fn urls_of_which_a_part_would_be_left_out_are_refused() {
    for (url, words) in [
        ("tcp://127.0.0.1:1/path", "has a path, which"),
        ("tcp://127.0.0.1:1?query", "has a path, which"),
        ("http://unix:", "is not the path of a Unix socket"),
        ("http://u:p@127.0.0.1:1/", "and --user NAME:PASSWORD"),
        ("http://127.0.0.1:1/{key}", "--keys: "),
    ] {
        assert_refused(&[url], words);
    }
    let twice = ["http://127.0.0.1:1/{key}/{key}", "--keys", "5"];
    assert_refused(&twice, "has {key} more than once");
    let both = ["http://127.0.0.1:1/", "ws://127.0.0.1:1/"];
    assert_refused(&both, "URLS: ws:// beside other URLs");
    let long = format!("unix:/{}", "a".repeat(200));
    assert_refused(&[&long], "of at most 107 bytes");
}

#[test]
fn headers_that_contradict_the_request_are_refused() {
    let url = "http://127.0.0.1:1/";
    for given in [
        &["-H", "Transfer-Encoding: chunked"][..],
        &["-H", "transfer-encoding: chunked", "--body", "x"],
        &["-H", "Content-Length: 5"],
        &["-H", "Content-Length: 5", "--body", "four"],
        &["-H", "Host: a", "-H", "host: b"],
        &["-H", "Authorization: x", "--bearer", "y"],
        &["-H", "authorization: x", "--user", "a:b"],
    ] {
        for protocol in ["h1", "h2"] {
            assert_refused(&[&[url, "-p", protocol], given].concat(), "--header: ");
        }
    }
    assert_refused(&[url, "--user", "name"], "write NAME:PASSWORD");
}

#[test]
fn what_says_where_requests_go_has_no_more_to_say() {
    let url = "http://127.0.0.1:1/";
    let file = File::new("one-request");
    std::fs::write(&file.0, "/a\n").expect("a file");
    let path = ["http://127.0.0.1:1/api", "--requests", file.name()];
    let words =
        "--requests: \"http://127.0.0.1:1/api\" has a path, but the requests have their own";
    assert_refused(&path, words);
    let socket = ["ws://127.0.0.1:1/", "--requests", file.name()];
    assert_refused(&socket, "--requests: requests for ws");
    for weights in ["0", "1"] {
        assert_refused(&[url, "--weights", weights], "--weights: one URL has all");
    }
    let proto = ["tcp://127.0.0.1:1", "-p", "proto", "--expect-status", "404"];
    assert_refused(&proto, "--expect-status: ");
}
