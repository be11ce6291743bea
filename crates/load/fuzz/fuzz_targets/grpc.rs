//! Any bytes as the messages of a gRPC answer, in one piece or in two, are read the same and without a
//! crash.
//!
//! `cargo +nightly fuzz run grpc` in `crates/load`. The first byte says where the cut is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_load::expectation::Expectation;
use tare_load::grpc::Messages;

/// Bytes of the messages, and whether the last is whole.
fn read(pieces: &[&[u8]]) -> Result<(u64, bool), &'static str> {
    let (mut messages, mut check) = (Messages::default(), Expectation::default().body_check());
    for piece in pieces {
        messages.feed(piece, &mut check)?;
    }
    Ok((check.length(), messages.is_between()))
}

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else {
        return;
    };
    let (one, two) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let whole = read(&[bytes]);
    assert_eq!(read(&[one, two]), whole);
    assert!(whole.is_err() || whole.is_ok_and(|(length, _)| length <= bytes.len() as u64));
});
