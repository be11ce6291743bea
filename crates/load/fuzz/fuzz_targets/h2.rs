//! Any bytes from an HTTP/2 server, in one piece or in three, are read the same and without a
//! crash.
//!
//! `cargo +nightly fuzz run h2` in `crates/load`. The first bytes say where the cuts are and how many
//! requests were asked; a server's settings go in front of the rest.
#![no_main]

#[path = "../../tests/suite/common/h2_client.rs"]
mod client;

use libfuzzer_sys::fuzz_target;

/// An empty SETTINGS frame.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

fuzz_target!(|input: &[u8]| {
    let Some(([one, two, asked], rest)) = input.split_first_chunk() else {
        return;
    };
    let bytes = [&SETTINGS[..], rest].concat();
    // In two steps of up to 255 and 4080 bytes.
    let one = usize::from(*one).min(bytes.len());
    let two = (one + usize::from(*two) * 16).min(bytes.len());
    let asked = usize::from(asked % 8);
    let whole = client::outcome(&bytes, &[], asked);
    assert_eq!(client::outcome(&bytes, &[one, two], asked), whole);
    assert!(whole.0.len() <= asked);
});
