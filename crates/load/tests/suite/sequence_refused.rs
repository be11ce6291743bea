//! Sequences that cannot be meant: each is refused with a sentence before anything is sent.

use std::process::Output;

use serde_json::json;

use crate::common::program::{File, load, program, text};
use crate::common::site::{ok, serve};
use crate::common::streams::{self, Rules, Version};
use crate::common::{count, errors};

const GOOD: &str = r#"{"url": "/in", "take": {"id": "json:/id"}}
{"url": "/item/${id}"}
"#;

fn run(url: &str, requests: &str, arguments: &[&str]) -> Output {
    let file = File::holding("sequence", requests);
    let common = [url, "--requests", file.name(), "-c", "1"];
    program(&[&common, arguments].concat())
}

fn assert_refused(requests: &str, arguments: &[&str], words: &str) {
    let output = run("http://127.0.0.1:1/", requests, arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(words), "{arguments:?}, {requests}: {said}");
}

#[test]
fn what_has_no_meaning_beside_a_sequence_is_refused() {
    for (arguments, words) in [
        (
            &["-p", "h3"][..],
            "url: http:// is not for h3; write https://",
        ),
        (
            &["-p", "grpc"],
            "sequence: grpc has no sequences of requests; take h1, h2 or h3",
        ),
        (
            &["-p", "ws"],
            "--requests: requests for ws, which sends messages",
        ),
        (
            &["-m", "2"],
            "one request at a time, not 2; leave out --depth, or take h2",
        ),
        (&["-p", "auto", "-m", "2"], "one request at a time, not 2"),
        (&["--in-order"], "cannot be used with"),
        (&["--replay", "log"], "cannot be used with"),
        (
            &["--cookies", "-H", "cookie: a=b"],
            "a Cookie header beside",
        ),
    ] {
        let arguments = [&["--sequence"], arguments].concat();
        assert_refused(GOOD, &arguments, words);
    }
    assert_refused(
        GOOD,
        &[],
        ":1: values are taken in a sequence alone; add --sequence",
    );
    assert_refused(GOOD, &["--cookies"], "--sequence");
    let weighted = format!("{GOOD}{{\"url\": \"/\", \"weight\": 2}}");
    assert_refused(
        &weighted,
        &["--sequence"],
        ":3: weight 2 in a sequence; leave it out",
    );
}

#[test]
fn a_duel_has_no_sequences() {
    let spec = json!({
        "targets": [{"name": "a", "url": "http://127.0.0.1:1/"}, {"name": "b", "url": "http://127.0.0.1:2/"}],
        "mix": [{"url": "/"}],
        "sequence": {},
        "slices": {"length_ms": 2.0},
        "duration_s": 1.0,
    });
    let file = File::holding("sequence-in-slices", spec.to_string());
    let said = text(&program(&["--spec", file.name()]).stderr);
    assert!(
        said.contains("in slices no user would keep its place"),
        "{said}"
    );
}

#[test]
fn a_lacking_value_has_a_remedy() {
    let (url, _) = serve(|_| ok("", "{}"));
    let output = run(&url, GOOD, &["--sequence", "-r", "4", "--warmup", "0s"]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains(", in sequence"), "{said}");
    assert!(said.contains(" --show 1 prints an answer"), "{said}");
    for version in Version::ALL {
        let (url, _) = streams::serve(version, Rules::default(), |_| ok("", "{}"));
        let protocol = ["-p", version.protocol(), "-m", "3"];
        let output = run(
            &url,
            GOOD,
            &[&["--sequence", "-r", "4"], &protocol[..]].concat(),
        );
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains(" -p h1 --show 1 prints an answer"), "{said}");
    }
}

#[test]
fn a_sequence_needs_requests_to_one_server() {
    let output = program(&["http://127.0.0.1:1/", "--sequence"]);
    assert!(text(&output.stderr).contains("--requests <FILE>"));
    let two = File::holding("two-servers", "http://127.0.0.1:1/\nhttp://127.0.0.1:2/\n");
    let said = text(&program(&["--requests", two.name(), "--sequence"]).stderr);
    assert!(
        said.contains("the requests go to 2 servers; a user has one connection"),
        "{said}"
    );
}

#[test]
fn a_request_that_cannot_be_composed_is_named_with_its_line_and_a_remedy() {
    for (requests, words) in [
        (
            "/${id}",
            ":1: no earlier request takes ${id}; write \"take\": {\"id\": \"json:/id\"} into one",
        ),
        (
            r#"{"url": "/${id}", "take": {"id": "json:/id"}}"#,
            ":1: no earlier request takes ${id}",
        ),
        (
            "/a\n\n{\"url\": \"/\", \"headers\": {\"X-A\": \"${b}\"}}",
            ":3: no earlier request takes ${b}",
        ),
        (
            r#"{"url": "/", "body": "${b}"}"#,
            ":1: no earlier request takes ${b}",
        ),
        (
            r#"{"url": "/", "body": "function() ${ x }"}"#,
            "\"${ x }\" begins no value; write ${NAME} of letters",
        ),
        (
            r#"{"url": "/", "take": {"a": "body"}}"#,
            ":1: take {\"a\": \"body\"}; write \"NAME\": \"PLACE\"",
        ),
        (
            r#"{"url": "/", "take": {"a b": "status"}}"#,
            ":1: take {\"a b\": \"status\"}; ",
        ),
        (
            r#"{"url": "/", "take": {"a": "json:x"}}"#,
            ":1: take {\"a\": \"json:x\"}; ",
        ),
        (
            r#"{"url": "/", "take": ["status"]}"#,
            ":1: invalid type: sequence",
        ),
        (
            r#"{"url": "/", "method": "HEAD", "take": {"a": "json:"}}"#,
            ":1: the answer to HEAD has no body",
        ),
        (
            "{\"url\": \"/\", \"take\": {\"a\": \"status\"}}\n{\"url\": \"/\", \"headers\": {\"content-length\": \"3\"}, \"body\": \"${a}\"}",
            ":2: content-length beside a body with values, or with a value in it; leave it out",
        ),
        (
            "{\"url\": \"/\", \"take\": {\"a\": \"status\"}}\n{\"url\": \"/\", \"headers\": {\"Transfer-Encoding\": \"${a}\"}}",
            ":2: Transfer-Encoding beside",
        ),
    ] {
        assert_refused(requests, &["--sequence"], words);
    }
}

#[test]
fn steps_and_values_work_from_the_command_line() {
    let (url, _log) = serve(|request| match request.line.as_str() {
        "GET /in" => ok("", r#"{"id": 4}"#),
        "GET /item/4" if request.header("x-common") == "4" => ok("", ""),
        _ => crate::common::site::answer("404 No", "", ""),
    });
    let own = r#"{"url": "/in", "take": {"id": "json:/id"}}
{"url": "/item/${id}", "headers": {"X-Common": "${id}"}}"#;
    let output = run(&url, own, &["--sequence", "--cookies", "-r", "2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let steps = [
        "--sequence",
        "-d",
        "300ms",
        "--warmup",
        "100ms",
        "--steps",
        "100:200:100",
        "--json",
    ];
    // Whether a rate holds depends on the machine.
    let output = text(&run(&url, own, &steps).stdout);
    let results = output
        .lines()
        .map(serde_json::from_str::<serde_json::Value>);
    let results: Vec<_> = results.collect::<Result<_, _>>().expect("a result a line");
    assert_eq!(results.len(), 2);
    for result in &results {
        assert!(count(result, "load.completed") > 0, "{result}");
        assert_eq!(errors(result), 0, "{result}");
    }
    // A header of all requests may use no value, since the first has none yet.
    assert_refused(
        own,
        &["--sequence", "-H", "X-A: ${id}"],
        ":1: no earlier request takes ${id}",
    );
}

#[test]
fn without_a_sequence_text_stays_as_it_is() {
    let server = crate::common::Server::always(crate::common::OK, || crate::common::Then::Keep);
    let output = load(&server, &["-r", "4", "--warmup", "0", "-H", "X-A: ${b}"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
