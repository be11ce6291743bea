//! Pieces of the stack frame that need no memory: what compilers spill, and keys of lookups.
//!
//! A piece becomes a value when every instruction that touches a byte of it loads or stores it whole.
//! The verifier has seen every access, also those through pointers that were passed on.

use std::collections::BTreeMap;

use crate::insn::Op;
use crate::planted::{Fault, planted};
use crate::verifier::{Touched, Verified};

/// The pieces of a function's frame that are values: their first bytes and their sizes.
pub fn values(verified: &Verified, number: usize) -> Vec<(usize, u8)> {
    let ops = verified.program().ops();
    let passed_on = (0..ops.len()).any(|at| verified.touched(at) == Touched::Foreign);
    if passed_on && !planted(Fault::PassedOnInRegisters) {
        return Vec::new();
    }
    let function = verified.program().functions()[number];
    let mut wholes = BTreeMap::new();
    let mut ranges = Vec::new();
    for (at, &op) in ops
        .iter()
        .enumerate()
        .take(function.end)
        .skip(function.start)
    {
        let Touched::Own { start, end, exact } = verified.touched(at) else {
            continue;
        };
        let bytes = match op {
            Op::Load { bytes, .. } | Op::Store { bytes, .. } if exact => Some(bytes),
            Op::Helper { .. } if exact && verified.array_looked_up(at).is_some() => Some(4),
            _ => None,
        };
        if let Some(bytes) = bytes {
            wholes.insert(start, bytes);
        }
        ranges.push((start, end, bytes.is_some()));
    }
    // Two sizes from one first byte, or any other overlap: the piece stays memory.
    let alone = |start: usize, bytes: u8| {
        let last = start + usize::from(bytes);
        ranges.iter().all(|&(from, to, whole)| {
            let apart = to <= start || last <= from || planted(Fault::OverlapsInRegisters);
            apart || (whole && (from, to) == (start, last))
        })
    };
    wholes.retain(|&start, bytes| alone(start, *bytes));
    wholes.into_iter().collect()
}
