//! Any program that the verifier accepts runs without harm, and compiled as it is interpreted.
//!
//! `cargo +nightly fuzz run program` in `crates/ebpf`. The first byte says whether the rest is a program
//! as it stands or choices for one that is likely to be accepted.
#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;

use common::generate::{Choices, program};
use filter_ebpf::insn::{Raw, SLOT};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else {
        return;
    };
    let verified = if kind % 4 == 0 {
        let slots: Vec<Raw> = rest.as_chunks::<SLOT>().0.iter().map(Raw::read).collect();
        common::verify(&slots)
    } else {
        program(&mut Choices(rest)).verify()
    };
    if let Ok(verified) = verified {
        let window = &rest[..rest.len() / 2];
        common::agree::check(&verified, [window, &rest[..rest.len().min(3)]]);
    }
});
