//! Loops that end by themselves, so that their turns need no fuel.
//!
//! The jump back from `at` to `target` is such a loop's when the slots between hold neither another
//! jump backwards nor a call, and a register counts: all that writes it there are constants added to
//! it, every way from `target` to `at` moves it in the same direction, and the verifier has proved
//! bounds of it at the jump. Whatever follows the jump comes to it again only by those ways, or not
//! before something else costs fuel or a function is entered or left: between two such events it is
//! taken at most once for each number within the bounds.

use super::facts::Facts;
use crate::helpers::Helper;
use crate::insn::{Alu, Op, Reg, Source};
use crate::planted::{Fault, planted};
use crate::program::Program;

/// The most turns that a loop may take for nothing.
pub const MAX_TURNS: u64 = 8192;

/// Numbers and sums stay so small that counting in 32 and in 64 bits is the same.
const SMALL: i64 = 1 << 30;

/// For each slot: how often its jump backwards can be taken before something else costs fuel; `None`
/// where that is not known, or too much.
pub fn turns(program: &Program, facts: &Facts) -> Vec<Option<u32>> {
    let bound = |at: usize| {
        let target = back(program.ops()[at], at)?;
        let ranges = facts.backwards[at]?;
        let body = &program.ops()[target..at];
        let plain = |(slot, op): (usize, &Op)| !calls(*op) && back(*op, target + slot).is_none();
        if !body.iter().enumerate().all(plain) {
            return None;
        }
        (0..10)
            .filter_map(|register| {
                let (low, high) = ranges[usize::from(register)]?;
                let (least, most) = moved(body, target, register)?;
                let counts = least > 0 || most < 0;
                let turns =
                    (high - low).checked_add(u64::from(!planted(Fault::CountedTurnLess)))?;
                let small = high <= SMALL as u64 && least >= -SMALL && most <= SMALL;
                (counts && small && turns <= MAX_TURNS).then_some(turns as u32)
            })
            .min()
    };
    (0..program.ops().len()).map(bound).collect()
}

/// Return true if the operation enters a function.
fn calls(op: Op) -> bool {
    match op {
        Op::Call { .. } => true,
        Op::Helper { number } => {
            matches!(
                Helper::by_number(number),
                Some(Helper::Loop | Helper::TailCall)
            )
        }
        _ => false,
    }
}

fn back(op: Op, at: usize) -> Option<usize> {
    match op {
        Op::Jump { target } | Op::Branch { target, .. } if target <= at => Some(target),
        _ => None,
    }
}

/// The least and the most by which a register is moved from the first slot of `body`, `first`, to the
/// slot after it; `None` when it is written otherwise, or no way leads there.
fn moved(body: &[Op], first: usize, register: Reg) -> Option<(i64, i64)> {
    let mut sums: Vec<Option<(i64, i64)>> = vec![None; body.len() + 1];
    sums[0] = Some((0, 0));
    for (slot, &op) in body.iter().enumerate() {
        let by = match op {
            Op::Alu {
                op: Alu::Add,
                dst,
                src: Source::Imm(imm),
                ..
            } if dst == register => i64::from(imm),
            _ if writes(op, register) => return None,
            _ => 0,
        };
        let Some((least, most)) = sums[slot] else {
            continue;
        };
        let after = (least + by, most + by);
        if let Op::Jump { target } | Op::Branch { target, .. } = op {
            arrive(&mut sums, target - first, after);
        }
        if !matches!(op, Op::Jump { .. } | Op::Exit) {
            let next = match body.get(slot + 1) {
                Some(Op::SecondHalf) => slot + 2,
                _ => slot + 1,
            };
            arrive(&mut sums, next, after);
        }
    }
    sums[body.len()]
}

fn arrive(sums: &mut [Option<(i64, i64)>], slot: usize, (least, most): (i64, i64)) {
    // What jumps beyond the loop has left it.
    if let Some(sum) = sums.get_mut(slot) {
        *sum = Some(match *sum {
            None => (least, most),
            Some((low, high)) => (low.min(least), high.max(most)),
        });
    }
}

fn writes(op: Op, register: Reg) -> bool {
    match op {
        Op::Alu { dst, .. }
        | Op::MoveSigned { dst, .. }
        | Op::ByteSwap { dst, .. }
        | Op::Load { dst, .. }
        | Op::LoadImm { dst, .. }
        | Op::LoadMap { dst, .. }
        | Op::LoadMapValue { dst, .. }
        | Op::LoadFunction { dst, .. } => dst == register,
        Op::Atomic { fetch, src, .. } => fetch && (src == register || register == 0),
        Op::Helper { .. } | Op::Call { .. } => register <= 5,
        Op::Store { .. } | Op::SecondHalf | Op::Jump { .. } | Op::Branch { .. } | Op::Exit => false,
    }
}
