//! Any text as a file of requests is read without a crash, and a line that is none is one of its lines.
//!
//! `cargo +nightly fuzz run requests` in `crates/load`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_load::plan::request_file::parse;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match parse(text) {
        Ok(requests) => assert!((1..=text.lines().count()).contains(&requests.len())),
        Err(fault) => assert!(fault.line <= text.lines().count()),
    }
});
