//! Sorts `{1: number}` pseudo-random items: `{1: checksum over the items in their order}`.

use tare_udf::message::{Fields, Writer};

fn sorted(count: u64) -> u64 {
    let mut state = 1u32;
    let mut items: Vec<u32> = (0..count)
        .map(|_| {
            // Marsaglia's xorshift with 32 bits.
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        })
        .collect();
    items.sort_unstable();
    items.iter().fold(0u64, |sum, item| {
        sum.wrapping_mul(31).wrapping_add((*item).into())
    })
}

fn main() {
    tare_udf::serve(|request, _| {
        let count = Fields::new(request).number(1).unwrap_or(10_000);
        Writer::default().number(1, sorted(count)).done()
    });
}
