//! Keys on the stack that seem to be below the number of entries, and are not always.

use filter_ebpf::insn::Raw;

use super::common::*;
use super::{join, rejected};

/// r0 becomes a number below 256 that nobody knows; 8 bytes of the stack are 0.
fn number() -> [Raw; 3] {
    [store_imm(8, 10, -8, 0), helper(7), raw(0x57, 0, 0, 0, 0xff)]
}

/// Look up the key at r10 - 4 and read what is found without a comparison with null.
fn found(target: i32) -> Vec<Raw> {
    let read = [load(8, 0, 0, 0), mov(0, 0), exit()];
    let key = [copy(2, 10), add(2, -4), helper(1)];
    join([&map(1, target), &key, &read])
}

fn masked(mask: i32) -> [Raw; 2] {
    [raw(0x57, 0, 0, 0, mask), store(4, 10, -4, 0)]
}

const NULL: &str = "r0 may be null";

#[test]
fn a_key_that_is_masked_is_there() {
    for target in [ARRAY, PER_CPU] {
        let slots = join([&number(), &masked(3), &found(target)]);
        assert_eq!(verify(&slots).err(), None);
        rejected(join([&number(), &masked(7), &found(target)]), NULL);
        rejected(join([&number(), &masked(4), &found(target)]), NULL);
    }
    // Of 8 bytes, and of one with zeros beside it.
    let whole = [raw(0x57, 0, 0, 0, 3), store(8, 10, -8, 0), copy(3, 10)];
    let moved = [load(4, 4, 3, -8), store(4, 10, -4, 4)];
    let slots = join([&number(), &whole, &moved, &found(ARRAY)]);
    assert_eq!(verify(&slots).err(), None);
    let byte = [raw(0x57, 0, 0, 0, 3), store(1, 10, -4, 0)];
    let slots = join([&number(), &byte, &found(ARRAY)]);
    assert_eq!(verify(&slots).err(), None);
    let byte = [raw(0x57, 0, 0, 0, 3), store(1, 10, -3, 0)];
    rejected(join([&number(), &byte, &found(ARRAY)]), NULL);
}

#[test]
fn only_arrays_have_every_key_below_their_size() {
    for target in [OUTER, OUTER_HASH] {
        let slots = join([
            &number(),
            &masked(3),
            &map(1, target),
            &[copy(2, 10), add(2, -4), helper(1), copy(1, 0)],
            &[copy(2, 10), add(2, -4), helper(1), mov(0, 0), exit()],
        ]);
        rejected(slots, "r1 may be null");
    }
}

#[test]
fn a_key_that_is_written_over_is_not_known() {
    let over = |write: &[Raw]| join([&number(), &masked(3), write, &found(ARRAY)]);
    // One byte of it, and any byte of the stack.
    let byte = [helper(7), store(1, 10, -4, 0)];
    rejected(over(&byte), NULL);
    let somewhere = [
        helper(7),
        raw(0x57, 0, 0, 0, 7),
        copy(3, 10),
        raw(0x1f, 3, 0, 0, 0),
        store_imm(1, 3, -1, 9),
    ];
    rejected(over(&somewhere), NULL);
    let atomic = [mov(2, 1), atomic(4, 10, -4, 2, 0)];
    rejected(over(&atomic), NULL);
    // By a function that has its address.
    let called = join([
        &number(),
        &masked(3),
        &[copy(1, 10), call(9)],
        &found(ARRAY),
        &[helper(7), mov(0, 0), exit()],
    ]);
    assert!(verify(&called).is_err());
    let writes = join([
        &number(),
        &masked(3),
        &[copy(1, 10), call(8)],
        &found(ARRAY),
        &[store_imm(1, 1, -4, 9), mov(0, 0), exit()],
    ]);
    rejected(writes, NULL);
}

#[test]
fn a_key_of_several_paths_is_known_as_far_as_on_each() {
    let paths = |other: i32| {
        join([
            &number(),
            &[store_imm(4, 10, -4, other), branch(2, 0, 99, 2)],
            &masked(3),
            &found(ARRAY),
        ])
    };
    assert_eq!(verify(&paths(2)).err(), None);
    rejected(paths(4), NULL);
    rejected(paths(-1), NULL);
    // One that grows in a loop.
    let grows = join([
        &[store_imm(8, 10, -8, 0), mov(6, 0)],
        &[load(4, 2, 10, -4), add(2, 1), store(4, 10, -4, 2)],
        &[add(6, 1), branch(10, 6, 50, -5)],
        &found(ARRAY),
    ]);
    rejected(grows, NULL);
}
