//! Any text as an access log, in each format, is read without a crash; its times are in order and within
//! its length, and its paths are paths.
//!
//! `cargo +nightly fuzz run logs` in `crates/load`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_load::replay::{LogFormat, read};

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    for format in [None, Some(LogFormat::Combined), Some(LogFormat::Json), Some(LogFormat::Har)] {
        let Ok(log) = read(&text, format) else {
            continue;
        };
        assert_eq!(log.entries[0].at, 0);
        assert!(log.entries.is_sorted_by_key(|entry| entry.at));
        for entry in &log.entries {
            assert!(entry.at <= log.length);
            assert!(entry.path.starts_with('/'));
            assert!(entry.path.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
});
