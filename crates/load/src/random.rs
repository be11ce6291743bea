//! Random numbers, reproducible from a seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A generator of random numbers.
pub type Random = Xoshiro256PlusPlus;

/// A use of random numbers: each has its own, so that one does not change another.
#[derive(Clone, Copy, Debug)]
pub enum Use {
    /// The intended sends of an open loop, of the target with this number.
    Arrivals(usize),
    /// The keys of the requested objects, of the target with this number.
    Keys(usize),
    /// Think delays.
    Think,
    /// The order of a duel's slices.
    Slices,
    /// The choice among a target's requests.
    Picks,
}

/// The numbers of one thread for one use, which overlap with no other's.
pub fn stream(seed: u64, thread: usize, usage: Use) -> Random {
    // Another seed for the picks: each number of long jumps has a use, since targets have no limit.
    let mut random = Random::seed_from_u64(match usage {
        Use::Picks => !seed,
        _ => seed,
    });
    for _ in 0..thread {
        random.jump();
    }
    let offset = match usage {
        Use::Think | Use::Picks => 0,
        Use::Slices => 1,
        Use::Keys(target) => 2 + 2 * target,
        Use::Arrivals(target) => 3 + 2 * target,
    };
    for _ in 0..offset {
        random.long_jump();
    }
    random
}

/// `length` arbitrary bytes.
pub fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Random::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}
