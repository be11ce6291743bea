//! Fuel: the units in which run time is counted and bounded.
//!
//! A unit is an instruction that takes a nanosecond or two at most on a machine of 2 GHz or more;
//! what takes longer has the weight of several.

use crate::helpers::Helper;
use crate::insn::{Alu, Op};

/// The fuel of a run unless another amount is set: at most a millisecond.
pub const DEFAULT: u32 = 500_000;

/// Bytes of maps from which on a place of them is not in the processor's nearest caches, and its weight.
const LARGE: (usize, u64) = (1 << 20, 64);
/// Bytes of maps from which on it is in none, nor where it is in the tables of pages.
const HUGE: (usize, u64) = (1 << 24, 128);

/// Return the weight of an instruction by itself: without the function or the helper that it calls.
pub fn weight(op: Op) -> u64 {
    match op {
        Op::SecondHalf => 0,
        Op::Alu {
            op: Alu::Div | Alu::SignedDiv | Alu::Mod | Alu::SignedMod,
            ..
        } => 16,
        Op::Atomic { .. } => 16,
        // A lookup in an array is this; other helpers cost more when they are called.
        Op::Helper { .. } => 4,
        // Saves and restores registers.
        Op::Call { .. } => 8,
        _ => 1,
    }
}

/// Return the weight of touching one place of maps of so many bytes in all, on top of the instruction's.
pub fn access(map_bytes: usize) -> u64 {
    match map_bytes {
        bytes if bytes >= HUGE.0 => HUGE.1,
        bytes if bytes >= LARGE.0 => LARGE.1,
        _ => 0,
    }
}

/// Return the weight of a helper's call, to which its bytes are added one by one.
pub fn helper(helper: Helper) -> u64 {
    match helper {
        Helper::ProcessorId | Helper::Strncmp | Helper::Memcmp => 50,
        Helper::MapLookup | Helper::KtimeNs => 100,
        Helper::MapUpdate | Helper::MapDelete => 200,
        Helper::PerfEventOutput | Helper::RingbufOutput | Helper::RingbufReserve => 200,
        Helper::RingbufSubmit | Helper::RingbufDiscard | Helper::RingbufQuery => 50,
        // The compiled code does these by itself; what they call comes on top.
        Helper::Loop => 8,
        Helper::TailCall => 50,
        // Calls of the kernel.
        Helper::RandomU32 => 500,
        Helper::TracePrintk => 1_000,
    }
}

/// The weight of a turn of [`Helper::Loop`], on top of the function's.
pub const TURN: u64 = 12;
/// The weight of an update that may have to take out an entry, on top of the helper's.
pub const EVICTION: u64 = 1_000;
