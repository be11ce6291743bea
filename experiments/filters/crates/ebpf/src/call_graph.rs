//! The order in which functions call each other, which has no circles.

use crate::insn::Op;

/// A function: the slots `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its first slot.
    pub start: usize,
    /// The slot after its last.
    pub end: usize,
}

/// Return the functions by number, each after all that it calls, or the slot of a call that closes a
/// circle.
pub fn callees_first(ops: &[Op], functions: &[Function]) -> Result<Vec<usize>, usize> {
    let calls: Vec<Vec<(usize, usize)>> =
        functions.iter().map(|f| calls(ops, functions, f)).collect();
    let mut callers = vec![Vec::new(); functions.len()];
    for (caller, calls) in calls.iter().enumerate() {
        for &(_, callee) in calls {
            callers[callee].push(caller);
        }
    }
    let mut open: Vec<usize> = calls.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..functions.len()).filter(|&f| open[f] == 0).collect();
    let mut next = 0;
    while let Some(&callee) = order.get(next) {
        next += 1;
        for &caller in &callers[callee] {
            open[caller] -= 1;
            if open[caller] == 0 {
                order.push(caller);
            }
        }
    }
    match open.iter().position(|&calls| calls > 0) {
        None => Ok(order),
        Some(first) => Err(closing_call(&calls, &open, first)),
    }
}

/// The calls of a function: their slots and whom they call.
fn calls(ops: &[Op], functions: &[Function], function: &Function) -> Vec<(usize, usize)> {
    let number = |target: usize| functions.partition_point(|function| function.start < target);
    (function.start..function.end)
        .filter_map(|at| match ops[at] {
            // Who refers to a function lets a helper call it.
            Op::Call { target } | Op::LoadFunction { target, .. } => Some((at, number(target))),
            _ => None,
        })
        .collect()
}

/// Follow calls of functions that are still open until one is met again: every such function has one.
fn closing_call(calls: &[Vec<(usize, usize)>], open: &[usize], first: usize) -> usize {
    let mut met = vec![false; open.len()];
    let mut function = first;
    let mut slot = 0;
    while !met[function] {
        met[function] = true;
        for &(at, callee) in &calls[function] {
            if open[callee] > 0 {
                (slot, function) = (at, callee);
                break;
            }
        }
    }
    slot
}
