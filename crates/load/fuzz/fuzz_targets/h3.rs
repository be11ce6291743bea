//! Any bytes on an HTTP/3 request's stream, in one piece or in two, are read the same and without a
//! crash.
//!
//! `cargo +nightly fuzz run h3` in `crates/load`. The first byte says where the cut is; a header with
//! status 200 goes in front of the rest if it is odd.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_load::h3::response::{Response, Wrong};
use tare_load::expectation::Expectation;

/// HEADERS with `:status: 200` of the static table.
const HEAD: [u8; 5] = [1, 3, 0, 0, 0xd9];

fn read(pieces: &[&[u8]]) -> Result<(u16, u64), Wrong> {
    let mut response = Response::new(&Expectation::default(), false);
    pieces.iter().try_for_each(|piece| response.feed(piece))?;
    Ok((response.end()?, response.bytes()))
}

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first() else {
        return;
    };
    let head: &[u8] = if first % 2 == 1 { &HEAD } else { &[] };
    let bytes = [head, bytes].concat();
    let (one, two) = bytes.split_at(usize::from(*first).min(bytes.len()));
    assert_eq!(read(&[one, two]), read(&[&bytes]));
});
