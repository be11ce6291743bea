//! The fuel that a run costs, as a bound of the weight that it executes.
//!
//! Going forward, a function executes each of its slots once. A jump backwards lets it execute once more
//! what lies between: the slots of its span. So a run never executes more than the weight of all slots
//! (a call's with the weight of its function), and for each jump backwards the weight of its span. Every
//! run pays the first part before it begins, and the second jump by jump. Jumps of loops that end by
//! themselves pay nothing: what all their turns weigh counts as weight of the jump's slot. Their spans
//! overlap with no other loop's of the kind, and only a jump that pays for this slot leads to them again.
//!
//! What a helper calls, and a program that a run goes on with, is paid for like an entry, each time.

use super::facts::{Facts, MapAt};
use super::far::Distances;
use crate::fuel;
use crate::helpers::{Argument, Helper};
use crate::insn::Op;
use crate::maps;
use crate::planted::{Fault, planted};
use crate::program::{MapKind, Program};

/// The most fuel that the loops of a program cost before it begins. The most expensive ones beyond that
/// pay turn by turn.
const MAX_PREPAID: u64 = 100_000;
/// Larger than any amount of fuel; sums of it over all slots do not overflow.
const TOO_MUCH: u64 = 1 << 40;

/// The fuel that a program costs.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Of each function, each time it is called.
    pub functions: Vec<u64>,
    /// Of a jump backwards, by slot.
    pub back: Vec<u64>,
    /// Of a helper's call, by slot; what the size in a register says comes on top.
    pub helper: Vec<u64>,
    /// Of the instruction in a slot by itself.
    pub weights: Vec<u64>,
}

/// Return the costs of a program. Take the loops from `turns` that have to pay turn by turn.
pub fn costs(program: &Program, facts: &Facts, turns: &mut [Option<u32>]) -> Costs {
    let distances = Distances::of(program.maps());
    let weight = |at: usize| match program.ops()[at] {
        _ if !facts.reached[at] => 0,
        // What a call touches is paid for with the call.
        op @ Op::Helper { .. } if array_looked_up(program, facts, at).is_none() => fuel::weight(op),
        op => fuel::weight(op) + distances.access(facts.touched[at]),
    };
    let weights: Vec<u64> = (0..program.ops().len()).map(weight).collect();
    let mut total = weights.clone();
    for (at, cost) in prepaid(program, facts, &weights, turns) {
        total[at] += cost;
    }
    let functions = add_calls(program, facts, &mut total);
    let mut before = vec![0];
    for weight in &total {
        before.push(before[before.len() - 1] + weight);
    }
    let back = |at: usize| match program.ops()[at] {
        Op::Jump { target } | Op::Branch { target, .. } if target <= at => {
            before[at + 1] - before[target + usize::from(planted(Fault::JumpMissesOne))]
        }
        _ => 0,
    };
    Costs {
        functions,
        back: (0..total.len()).map(back).collect(),
        helper: (0..total.len())
            .map(|at| helper(program, facts, &distances, at))
            .collect(),
        weights,
    }
}

/// The loops that cost nothing turn by turn, and what all turns of each cost in one call.
fn prepaid(
    program: &Program,
    facts: &Facts,
    weights: &[u64],
    turns: &mut [Option<u32>],
) -> Vec<(usize, u64)> {
    let calls = calls(program, facts);
    let mut loops = Vec::new();
    for (at, turns) in turns.iter().enumerate() {
        if let (Some(turns), Op::Jump { target } | Op::Branch { target, .. }) =
            (turns, program.ops()[at])
        {
            let function = program.functions().partition_point(|f| f.start <= at) - 1;
            let span: u64 = weights[target..=at].iter().sum();
            let turns = if planted(Fault::PrepaidOneTurn) {
                1
            } else {
                *turns
            };
            let cost = span.saturating_mul(turns.into()).min(TOO_MUCH);
            loops.push((cost.saturating_mul(calls[function]), at, cost));
        }
    }
    loops.sort_unstable();
    let mut sum = 0u64;
    let mut kept = Vec::new();
    for (all, at, cost) in loops {
        sum = sum.saturating_add(all);
        if sum <= MAX_PREPAID {
            kept.push((at, cost));
        } else {
            turns[at] = None;
        }
    }
    kept
}

/// The number of calls of each function when no slot is executed twice. What helpers call pays each time it
/// is called, as the entry does.
fn calls(program: &Program, facts: &Facts) -> Vec<u64> {
    let mut calls = vec![0u64; program.functions().len()];
    for function in program.continuations().union(&program.callbacks()) {
        calls[*function] = 1;
    }
    calls[0] = 1;
    for &caller in program.callees_first().iter().rev() {
        for (_, callee) in called(program, facts, caller) {
            calls[callee] = calls[callee].saturating_add(calls[caller]);
        }
    }
    calls
}

/// Add to calls the weight of their functions. Return the functions'.
fn add_calls(program: &Program, facts: &Facts, total: &mut [u64]) -> Vec<u64> {
    let mut costs = vec![0u64; program.functions().len()];
    for &caller in program.callees_first() {
        for (at, callee) in called(program, facts, caller).collect::<Vec<_>>() {
            let cost = costs[callee] * u64::from(!planted(Fault::CallsCostNothing));
            total[at] = (total[at] + cost).min(TOO_MUCH);
        }
        let function = program.functions()[caller];
        costs[caller] = total[function.start..function.end].iter().sum();
    }
    costs
}

/// The calls in a function: their slots and whom they call.
fn called(program: &Program, facts: &Facts, caller: usize) -> impl Iterator<Item = (usize, usize)> {
    let function = program.functions()[caller];
    (function.start..function.end).filter_map(move |at| match program.ops()[at] {
        Op::Call { target } if facts.reached[at] => Some((at, program.function_at(target)?)),
        _ => None,
    })
}

/// The cost of a helper's call but for the bytes that a register counts. A lookup in an array is no call.
fn helper(program: &Program, facts: &Facts, distances: &Distances, at: usize) -> u64 {
    let Op::Helper { number } = program.ops()[at] else {
        return 0;
    };
    let Some(helper) = Helper::by_number(number) else {
        return 0;
    };
    if array_looked_up(program, facts, at).is_some() {
        return 0;
    }
    let maps = match facts.maps_at[at] {
        MapAt::None => 0..0,
        MapAt::One(map) => map..map + 1,
        MapAt::Many => 0..program.maps().len(),
    };
    let touched = facts.touched[at];
    let costs = maps.map(|number| {
        let map = &program.maps()[number];
        let of = |argument| match argument {
            Argument::Key => u64::from(map.key_size),
            Argument::Value => u64::from(map.value_size) * maps::copies(map),
            Argument::WritableMap if map.kind.evicts() => fuel::EVICTION,
            _ => 0,
        };
        let bytes: u64 = helper.arguments().map(of).iter().sum();
        bytes + distances.helper(helper, (number, map), touched)
    });
    let most = costs.max();
    fuel::helper(helper) + most.unwrap_or_else(|| distances.arguments(helper, touched))
}

/// The array in which the helper's call looks something up, always the same one: that takes no call.
pub fn array_looked_up(program: &Program, facts: &Facts, at: usize) -> Option<usize> {
    match (program.ops()[at], facts.maps_at[at]) {
        (Op::Helper { number }, MapAt::One(map))
            if Helper::by_number(number) == Some(Helper::MapLookup)
                && program.maps()[map].kind == MapKind::Array =>
        {
            Some(map)
        }
        _ => None,
    }
}
