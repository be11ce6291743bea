//! Loops that cost no fuel: those that count to a small constant, and none that only look so.

use std::sync::Arc;

use filter_ebpf::compile::Compiled;
use filter_ebpf::insn::Raw;
use filter_ebpf::interpreter::{self, Fault};
use filter_ebpf::maps::Maps;

use crate::common::*;

const BELOW: u8 = 10;
const ABOVE: u8 = 2;

/// What the program gives with no more fuel than every run costs, the same both ways.
fn without_fuel(slots: &[Raw]) -> Option<u64> {
    let verified = verify(slots).expect("harmless");
    let fuel = verified.cost() as u32;
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
    let compiled = Compiled::new(&verified, Arc::clone(&maps), fuel).unwrap();
    let windows: [&[u8]; 2] = [&[7; 64], b""];
    let slow = interpreter::run(&verified, &maps, &windows, fuel).result;
    assert!(matches!(slow, Ok(_) | Err(Fault::OutOfFuel)), "{slow:?}");
    assert_eq!(compiled.run(windows).ok(), slow.ok());
    slow.ok()
}

/// r0 counts in `body` from 0 on; the last jump goes back to the body's first slot.
fn counting(body: &[Raw]) -> Option<u64> {
    without_fuel(&join([&[mov(0, 0), mov(3, 0)], body, &[exit()]]))
}

fn join<const N: usize>(parts: [&[Raw]; N]) -> Vec<Raw> {
    parts.concat()
}

/// `w0 += imm`: the upper half becomes zero.
fn add_half(dst: u8, imm: i32) -> Raw {
    raw(0x04, dst, 0, 0, imm)
}

#[test]
fn counting_up_and_down_costs_nothing() {
    assert_eq!(
        counting(&[add(0, 1), branch(BELOW, 0, 4000, -2)]),
        Some(4000)
    );
    assert_eq!(
        counting(&[add_half(0, 7), branch(BELOW, 0, 4000, -2)]),
        Some(4004)
    );
    let down = [mov(0, 100), add(0, -1), branch(ABOVE, 0, 3, -2)];
    assert_eq!(without_fuel(&join([&down, &[exit()]])), Some(3));
    // By one or by two, as a byte of the window says.
    let either = [
        load(8, 2, 1, 0),
        load(8, 4, 1, 8),
        copy(5, 2),
        add(5, 1),
        branch_register(ABOVE, 5, 4, 6),
        load(1, 5, 2, 0),
        add(0, 1),
        branch(5, 5, 7, 1),
        add(0, 1),
        branch(ABOVE, 0, 50, 1),
        jump(-5),
    ];
    assert_eq!(counting(&either), Some(52));
}

#[test]
fn loops_one_after_the_other_cost_nothing_and_one_in_the_other_costs() {
    let first = [add(0, 1), branch(BELOW, 0, 10, -2)];
    let second = [add(0, 2), branch(BELOW, 0, 20, -2)];
    assert_eq!(counting(&join([&first, &second])), Some(20));
    let nested = [
        mov(0, 0),
        add(0, 1),
        branch(BELOW, 0, 10, -2),
        add(3, 1),
        branch(BELOW, 3, 10, -5),
    ];
    assert_eq!(counting(&nested), None);
}

#[test]
fn what_only_looks_like_counting_costs_fuel() {
    let looks: [&[Raw]; 10] = [
        // Starts again.
        &[mov(0, 0), add(0, 1), branch(BELOW, 0, 10, -3)],
        // Goes back as far as it went.
        &[add(0, 1), add(0, -1), branch(BELOW, 0, 10, -3)],
        // Stands still on one of two ways.
        &[branch(1, 3, 0, 1), add(0, 1), branch(BELOW, 0, 10, -3)],
        // Goes in two directions.
        &[
            branch(1, 3, 0, 1),
            add(0, 3),
            add(0, -1),
            branch(BELOW, 0, 10, -4),
        ],
        // Has no bound, or a far one, or wraps around to where it came from.
        &[add(0, 1), branch(5, 0, -1, -2)],
        &[add(0, 1), branch(BELOW, 0, 1 << 20, -2)],
        &[add_half(0, i32::MIN), branch(BELOW, 0, 10, -2)],
        // By an amount that is not known to be positive.
        &[add_register(0, 3), branch(BELOW, 0, 10, -2)],
        // Loses what it counted in memory, or to a helper.
        &[
            store(8, 10, -8, 3),
            load(8, 0, 10, -8),
            add(0, 1),
            branch(BELOW, 0, 10, -4),
        ],
        &[helper(8), add(0, 1), branch(BELOW, 0, 10, -3)],
    ];
    for (number, body) in looks.into_iter().enumerate() {
        let slots = join([&[mov(0, 0), mov(3, 0)], body, &[exit()]]);
        let verified = verify(&slots).unwrap_or_else(|reason| panic!("{number}: {reason}"));
        let bounded = (0..slots.len()).filter(|&at| verified.turns(at).is_some());
        assert_eq!(bounded.count(), 0, "loop {number}");
    }
}

#[test]
fn a_call_in_a_loop_costs_fuel() {
    let slots = [
        mov(6, 0),
        call(4),
        add(6, 1),
        branch(BELOW, 6, 10, -3),
        mov(0, 0),
        exit(),
        mov(0, 0),
        exit(),
    ];
    assert_eq!(without_fuel(&slots), None);
}

#[test]
fn a_check_that_the_verifier_makes_needless_is_left_out_and_no_other() {
    let ways = |slots: &[Raw], at: usize| verify(slots).expect("harmless").ways(at);
    // r0 goes up to 10: above 10 never, above 9 sometimes; and 10 at the end.
    for (limit, taken) in [(10, false), (9, true)] {
        let slots = [
            mov(0, 0),
            branch(ABOVE, 0, limit, 2),
            add(0, 1),
            branch(BELOW, 0, 11, -3),
            branch(1, 3, 0, 0),
            exit(),
        ];
        let slots = join([&[mov(3, 0)], &slots]);
        assert_eq!(ways(&slots, 2), (taken, true), "above {limit}");
        assert_eq!(without_fuel(&slots), Some(if taken { 10 } else { 11 }));
    }
    let always = [mov(0, 7), branch(5, 0, 8, 1), mov(0, 1), exit()];
    assert_eq!(ways(&always, 1), (true, false));
    assert_eq!(without_fuel(&always), Some(7));
}
