//! Any bytes given as an object file are a program or an error.
//!
//! `cargo +nightly fuzz run object` in `crates/ebpf`.
#![no_main]

use filter_ebpf::context::ContextLayout;
use filter_ebpf::elf;
use filter_ebpf::verifier::Verified;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(program) = elf::load(input, "filter") {
        let _ = Verified::new(program, ContextLayout::windows(1));
    }
});
