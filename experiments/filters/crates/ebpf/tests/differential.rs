//! Compiled code does what the checked interpreter does, for many programs that the verifier accepts.

mod common;

use common::agree::check;
use common::generate::{Choices, program};
use common::verify;

/// A small generator of numbers (SplitMix64), seeded so that failures repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.next() % most + 1;
        (0..length).map(|_| self.next() as u8).collect()
    }
}

#[test]
fn random_programs_run_the_same_both_ways() {
    let mut random = Random(6);
    let (mut accepted, mut finished) = (0, 0);
    let mut reasons = std::collections::BTreeMap::new();
    for round in 0..400 {
        let choices = random.bytes(200);
        let slots = program(&mut Choices(&choices));
        let window = random.bytes(300);
        match verify(&slots) {
            Ok(verified) => {
                accepted += 1;
                let result = std::panic::catch_unwind(|| check(&verified, [&window, b""]));
                let result = result.unwrap_or_else(|_| panic!("round {round}: {slots:#?}"));
                finished += usize::from(result.is_some());
            }
            Err(reason) => *reasons.entry(reason).or_insert(0) += 1,
        }
    }
    assert!(
        accepted > 200,
        "only {accepted} of 400 programs were accepted: {reasons:#?}"
    );
    assert!(
        finished > 150,
        "only {finished} of 400 programs came to an end"
    );
}
