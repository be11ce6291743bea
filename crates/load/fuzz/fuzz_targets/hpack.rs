//! Header blocks mean what another decoder takes them for, and crash nothing.
//!
//! `cargo +nightly fuzz run hpack` in `crates/load`. The first byte says where the second block
//! begins.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loona_hpack::decoder::DecoderError;
use tare_load::hpack::{Decoder, Fault, Scratch};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else {
        return;
    };
    let (one, two) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let mut ours = Decoder::default();
    let mut theirs = loona_hpack::Decoder::new();
    theirs.set_max_allowed_table_size(4096);
    for block in [one, two] {
        let mut fields = Fields::new();
        let keep = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
        let found = ours.decode(block, &mut Scratch::default(), keep);
        let other = theirs.decode(block);
        match (found, other) {
            (Ok(_), Ok(other)) => assert_eq!(fields, other),
            // They want a field behind a change of the table's size.
            (Ok(_), Err(DecoderError::SizeUpdateAtEnd)) => return,
            (Ok(_), Err(why)) => panic!("only we accept it: {why:?}"),
            // We refuse more: longer lists, sizes in the middle.
            (Err(Fault::TooLong | Fault::Resize | Fault::Integer), _) => return,
            (Err(fault), Ok(_)) => panic!("only we refuse it: {fault:?}"),
            (Err(_), Err(_)) => return,
        }
    }
});
