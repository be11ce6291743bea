//! Any bytes from an HTTP/1.1 server, in one piece or in two, are read the same and without a
//! crash.
//!
//! `cargo +nightly fuzz run response` in `crates/load`. The first byte says where the cut is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_load::h1::Malformed;
use tare_load::h1::head::HeadReader;
use tare_load::h1::response::Response;
use tare_load::expectation::Expectation;

/// Status, body length and length of a whole response; none of one that goes on.
type Read = Result<Option<(u16, u64, u64)>, Malformed>;

fn read(pieces: &[&[u8]]) -> Read {
    let mut response = Response::new(&Expectation::default());
    let mut heads = HeadReader::new(false);
    for piece in pieces {
        if response.feed(piece, &mut heads)?.is_some() {
            let body = response.body_check().length();
            return Ok(Some((response.status(), body, response.bytes())));
        }
    }
    Ok(None)
}

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else {
        return;
    };
    let (one, two) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    assert_eq!(read(&[one, two]), read(&[bytes]));
});
