//! Programs that have functions called again and again.

use filter_ebpf::insn::Raw;
use filter_ebpf::program::MapSpec;

use super::common::*;
use super::{join, rejected, value};

const LOOP: i32 = 181;

/// Have the function after the program's end called so many times, with r3 as it is.
fn repeated(count: i32, before: &[Raw], after: &[Raw], callback: &[Raw]) -> Vec<Raw> {
    let call = [mov(1, count), mov(4, 0), helper(LOOP)];
    // After the reference come the call, what follows, and the function.
    let distance = 1 + call.len() + after.len();
    let reference = function(2, distance as i32);
    join([before, &reference, &call, after, callback])
}

fn end() -> [Raw; 2] {
    [mov(0, 0), exit()]
}

/// r3 becomes the address of the stack's last eight bytes, which are 0.
fn on_stack() -> [Raw; 3] {
    [store_imm(8, 10, -8, 0), copy(3, 10), add(3, -8)]
}

#[test]
fn what_is_called_is_no_function_or_gets_what_it_may_not() {
    let called = |second: &[Raw], third: &[Raw]| {
        join([second, third, &[mov(1, 1), mov(4, 0), helper(LOOP)], &end()])
    };
    let null = [mov(3, 0)];
    rejected(called(&[mov(2, 7)], &null), "r2 is no function");
    rejected(called(&[copy(2, 10)], &null), "r2 is no function");
    rejected(called(&map(2, ARRAY), &null), "r2 is no function");
    let function = |third: &[Raw]| repeated(1, third, &end(), &end());
    let kind = "r3 is neither an address on the stack nor null";
    rejected(function(&[mov(3, 1)]), kind);
    rejected(function(&[copy(3, 1)]), kind);
    rejected(function(&join([&value(), &[copy(3, 6)]])), kind);
    rejected(function(&map(3, ARRAY)), kind);
    rejected(function(&[]), kind);
}

#[test]
fn a_handle_on_a_function_is_nothing_else() {
    let used = |rest: &[Raw]| join([&function(2, 1 + rest.len() as i32), rest, &end()]);
    rejected(
        used(&[copy(0, 2), exit()]),
        "r0, the result, holds no number",
    );
    rejected(
        used(&join([&[add(2, 8)], &end()])),
        "computes with an address",
    );
    rejected(
        used(&join([&[store(8, 10, -8, 2)], &end()])),
        "writes an address to the stack",
    );
    rejected(
        used(&join([&[branch(1, 2, 0, 0)], &end()])),
        "compares an address",
    );
    rejected(
        used(&join([&[load(8, 3, 2, 0)], &end()])),
        "r2 holds no address",
    );
    rejected(
        join([&function(2, 100), &end()]),
        "jumps out of the program",
    );
    rejected(
        join([&function(2, 0), &end()]),
        "jumps into the middle of a 64-bit load",
    );
}

#[test]
fn a_function_that_is_called_reaches_beyond_what_it_is_given() {
    let callback = |body: &[Raw]| repeated(4, &on_stack(), &end(), &join([body, &end()]));
    rejected(callback(&[load(8, 0, 2, 8)]), "outside its stack frame");
    rejected(callback(&[store(8, 2, 8, 1)]), "outside its stack frame");
    rejected(callback(&[store(8, 2, -505, 1)]), "outside its stack frame");
    rejected(callback(&[copy(0, 6)]), "r6 holds nothing that may be used");
    rejected(callback(&[copy(0, 3)]), "r3 holds nothing that may be used");
    let result = repeated(4, &on_stack(), &end(), &[copy(0, 2), exit()]);
    rejected(result, "returns no number");
    // Null is not memory.
    let null = repeated(4, &[mov(3, 0)], &end(), &[load(8, 0, 2, 0), exit()]);
    rejected(null, "r2 holds no address");
    // The number of the turn, as an index of sixteen bytes.
    let index = |count| {
        let body = join([
            &[copy(7, 1)],
            &value(),
            &[add_register(6, 7), load(1, 0, 6, 0)],
            &end(),
        ]);
        repeated(count, &[mov(3, 0)], &end(), &body)
    };
    rejected(index(17), "may reach outside the map's value");
    assert!(verify(&index(16)).is_ok());
}

#[test]
fn a_turn_finds_what_the_turns_before_have_left() {
    // A number on the stack that grows, as an index.
    let grows = |below: &[Raw]| {
        let body = join([
            &[copy(8, 2), load(8, 7, 8, 0)],
            below,
            &[add(7, 1), store(8, 8, 0, 7)],
            &value(),
            &[add_register(6, 7), load(1, 0, 6, 0)],
            &end(),
        ]);
        repeated(8, &on_stack(), &end(), &body)
    };
    rejected(grows(&[]), "outside the map's value");
    let below = [branch(10, 7, 15, 2), mov(0, 1), exit()];
    assert_eq!(verify(&grows(&below)).err(), None);
    // An address on the stack that the first turn overwrites, used by the second or after the loop.
    let kept = [copy(3, 10), store(8, 10, -8, 10), add(3, -8)];
    let overwrites = [store_imm(8, 2, 0, 1), mov(0, 0), exit()];
    let used = [load(8, 5, 10, -8), load(8, 0, 5, -8), mov(0, 0), exit()];
    rejected(
        repeated(2, &kept, &used, &overwrites),
        "reads bytes of the stack that were not written",
    );
    let uses = [
        load(8, 5, 2, 0),
        store_imm(1, 5, -9, 1),
        store_imm(8, 2, 0, 1),
        mov(0, 0),
        exit(),
    ];
    rejected(
        repeated(2, &kept, &end(), &uses),
        "that were not written on every path",
    );
}

#[test]
fn functions_that_are_called_call_themselves() {
    let body = join([
        &function(2, -1),
        &[mov(1, 2), mov(3, 0), mov(4, 0), helper(LOOP)],
        &end(),
    ]);
    let slots = repeated(2, &[mov(3, 0)], &end(), &body);
    rejected(slots, "the function calls itself");
}

#[test]
fn functions_that_are_called_keep_or_finish_what_is_reserved() {
    let reserve = join([&map(1, EVENTS), &[mov(2, 8), mov(3, 0), helper(131)]]);
    let keeps = repeated(2, &[mov(3, 0)], &end(), &join([&reserve, &end()]));
    rejected(keeps, "keeps what it reserves, or finishes what others did");
    let before = join([
        &reserve,
        &[branch(5, 0, 0, 2), mov(0, 0), exit()],
        &[store(8, 10, -8, 0), copy(3, 10), add(3, -8)],
    ]);
    let submits = [load(8, 1, 2, 0), mov(2, 0), helper(132), mov(0, 0), exit()];
    let finishes = repeated(2, &before, &end(), &submits);
    rejected(
        finishes,
        "keeps what it reserves, or finishes what others did",
    );
}

#[test]
fn one_call_has_one_function_or_another_called() {
    // A function that passes on which one is to be called: the one at 15, then the one at 17.
    let slots = join([
        &function(1, 14),
        &[call(5)],
        &function(1, 13),
        &[call(2)],
        &end(),
        &[copy(2, 1), mov(1, 1), mov(3, 0), mov(4, 0), helper(LOOP)],
        &end(),
        &end(),
        &end(),
    ]);
    rejected(slots, "has one function or another called");
}

/// Run both ways; the results are the same.
fn result(slots: &[Raw], maps: Vec<MapSpec>) -> Option<u64> {
    let verified = verify_with(slots, maps).expect("harmless");
    agree::check(&verified, [b"abc", b""])
}

#[test]
fn turns_are_counted_and_refused() {
    let counted = |count| repeated(count, &on_stack(), &[exit()], &end());
    assert_eq!(result(&counted(5), maps()), Some(5));
    assert_eq!(result(&counted(0), maps()), Some(0));
    // Only 32 bits of the number count.
    assert_eq!(result(&counted(-1), maps()), Some(-7i64 as u64));
    assert_eq!(result(&counted((1 << 23) + 1), maps()), Some(-7i64 as u64));
    let upper = join([
        &function(2, 7),
        &wide(1, 0, 5, 1),
        &[mov(3, 0), mov(4, 0), helper(LOOP), exit()],
        &end(),
    ]);
    assert_eq!(result(&upper, maps()), Some(5));
    let flagged = join([
        &function(2, 6),
        &[mov(1, 5), mov(3, 0), mov(4, 1), helper(LOOP), exit()],
        &end(),
    ]);
    assert_eq!(result(&flagged, maps()), Some(-22i64 as u64));
    // What a function leaves in r6 to r9 is its own.
    let before = join([&[mov(6, 1), mov(9, 2)], &on_stack()]);
    let after = [copy(0, 6), add_register(0, 9), exit()];
    let slots = repeated(
        3,
        &before,
        &after,
        &[mov(6, 50), mov(9, 50), mov(0, 0), exit()],
    );
    assert_eq!(result(&slots, maps()), Some(3));
}
