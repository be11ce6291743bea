//! Any bytes are taken in as a binary or refused in words.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sandbox_runtime::binary::Binary;

fuzz_target!(|bytes: Vec<u8>| {
    if let Err(why) = Binary::new(bytes) {
        assert!(!why.is_empty());
    }
});
