//! Any answer of a server leaves a user's next request the lines and the length of its template.
//!
//! `cargo +nightly fuzz run sequence` in `crates/load`.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tare_load::dialogue::Dialogue;
use tare_load::crowd::turn::Sequences;
use tare_load::h1::users::Users;
use tare_load::h1::valued::{self, Valued};
use tare_load::keys::Keys;
use tare_load::pipeline::Pipeline;
use tare_load::plan::requests::Requests;
use tare_load::plan::sequence::sequences;
use tare_load::plan::targets::Targets;
use tare_load::spec::Spec;

const SPEC: &str = r#"{"url": "http://h/", "sequence": {"cookies": true}, "mix": [
    {"url": "/in", "take": {"j": "json:/j/0", "h": "header:x", "c": "cookie:c", "l": "location"}},
    {"url": "${l}", "method": "PUT", "headers": {"X-A": "${h}", "X-B": "${c}"}, "body": "<${j}>"}]}"#;

static SEQUENCES: LazyLock<Sequences<Valued>> = LazyLock::new(|| {
    let spec = Spec::from_json(SPEC).expect("a spec");
    let targets = Targets::of(&spec).expect("a target");
    let requests = Requests::of(&spec, &targets).expect("requests");
    sequences(&spec, &requests, valued::compose).expect("a sequence")
});

fuzz_target!(|answer: &[u8]| {
    let users = Users::new(&SEQUENCES, vec![Keys::new(None, 1, 0, (0, 1))]);
    let mut dialogue = Pipeline::new(users, 1);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = dialogue.begin(0, &mut out);
    dialogue
        .send(&mut connection, 0, 0, &mut out)
        .expect("room");
    out.clear();
    let read = dialogue.recv(&mut connection, answer, &mut out, &mut events);
    if read.is_err() || dialogue.room(&connection) == 0 {
        return;
    }
    dialogue
        .send(&mut connection, 0, 0, &mut out)
        .expect("room");
    let end = out
        .windows(4)
        .position(|part| part == b"\r\n\r\n")
        .expect("a head");
    let lines: Vec<&[u8]> = out[..end].split(|byte| *byte == b'\n').collect();
    let has = |name: &[u8]| lines.iter().any(|line| line.starts_with(name));
    // The user has begun anew, or goes on.
    let (words, rest) = match lines[0].starts_with(b"GET /in HTTP/1.1") {
        true => (2, 0),
        false => (5, out.len() - end - 4),
    };
    assert_eq!(lines.len(), words + usize::from(has(b"Cookie: ")));
    assert_eq!(lines[0].iter().filter(|byte| **byte == b' ').count(), 2);
    let stated = lines
        .iter()
        .find_map(|line| line.strip_prefix(b"Content-Length: "));
    if let Some(stated) = stated {
        assert_eq!(stated.trim_ascii_end(), rest.to_string().as_bytes());
    }
});
