//! Frames in pieces are the frames of the whole, none is longer than the limit, and what is written
//! again is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sandbox_runtime::frame::{Decoder, FrameError, frame};

fn read(limit: usize, wire: &[u8], piece: usize) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut decoder = Decoder::new(limit);
    let mut frames = Vec::new();
    for mut rest in wire.chunks(piece) {
        while !rest.is_empty() {
            match decoder.feed(&mut rest) {
                Ok(found) => frames.extend(found),
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

fuzz_target!(|input: (u16, u8, &[u8])| {
    let (limit, piece, wire) = input;
    let whole = read(limit.into(), wire, usize::MAX);
    assert_eq!(read(limit.into(), wire, usize::from(piece) + 1), whole);
    assert!(whole.0.iter().all(|body| body.len() <= limit.into()));
    let again: Vec<u8> = whole.0.iter().flat_map(|body| frame(body)).collect();
    assert_eq!(read(limit.into(), &again, usize::MAX), (whole.0, None));
});
