//! Accesses outside of what a program may touch.

use super::common::*;
use super::{join, rejected, value};
use filter_ebpf::program::Program;
use filter_ebpf::verifier::Verified;

#[test]
fn out_of_the_context() {
    for offset in [-8, 4, 32, 4096] {
        rejected(
            [load(8, 0, 1, offset), mov(0, 0), exit()],
            "no field of that size",
        );
    }
    rejected([load(4, 0, 1, 0), exit()], "no field of that size");
    rejected([add(1, 8), load(8, 0, 1, 0), exit()], "moves the context");
    rejected(
        [store_imm(8, 1, 0, 0), mov(0, 0), exit()],
        "writes the context",
    );
}

#[test]
fn out_of_the_stack() {
    for offset in [-520, -513, 0, 8, -4] {
        rejected(
            [store_imm(8, 10, offset, 0), mov(0, 0), exit()],
            "outside its stack frame",
        );
    }
    // An index that is only bounded on one side.
    let index = [
        mov(2, 0),
        store(8, 10, -8, 2),
        store(4, 10, -16, 2),
        copy(3, 10),
    ];
    rejected(
        join([
            &index,
            &[helper(7)],
            &[
                copy(4, 10),
                add_register(4, 0),
                store_imm(1, 4, 0, 1),
                mov(0, 0),
                exit(),
            ],
        ]),
        "moves an address too far",
    );
    let masked = [
        helper(7),
        raw(0x57, 0, 0, 0, 0x3ff),
        copy(4, 10),
        raw(0x1f, 4, 0, 0, 0),
    ];
    rejected(
        join([&masked, &[store_imm(1, 4, 0, 1), mov(0, 0), exit()]]),
        "outside its stack frame",
    );
}

#[test]
fn out_of_a_map_value() {
    for (offset, bytes) in [(-1, 1), (16, 1), (9, 8), (15, 2), (32000, 8)] {
        rejected(
            join([&value(), &[load(bytes, 3, 6, offset), exit()]]),
            "outside the map's value",
        );
        rejected(
            join([&value(), &[store_imm(bytes, 6, offset, 0), exit()]]),
            "outside the map's value",
        );
    }
    let index = [
        helper(7),
        raw(0x57, 0, 0, 0, 0x1f),
        add_register(6, 0),
        load(1, 0, 6, 0),
        exit(),
    ];
    rejected(join([&value(), &index]), "outside the map's value");
    rejected(
        join([&value(), &[mov(3, 1), atomic(8, 6, 4, 3, 0), exit()]]),
        "not be a multiple of 8",
    );
    rejected(
        join([&value(), &[mov(3, 1), atomic(8, 6, 16, 3, 0), exit()]]),
        "outside the map's value",
    );
}

#[test]
fn a_map_value_that_may_be_null() {
    // A key that the array does not have; one that it has needs no check.
    let start = [store_imm(4, 10, -4, 4)];
    let unchecked = [copy(2, 10), add(2, -4), helper(1), load(8, 0, 0, 0), exit()];
    rejected(join([&start, &map(1, ARRAY), &unchecked]), "may be null");
    let known = [store_imm(4, 10, -4, 3)];
    assert!(verify(&join([&known, &map(1, ARRAY), &unchecked])).is_ok());
    let either = [helper(7), branch(1, 0, 0, 1), store_imm(1, 10, -4, 4)];
    rejected(
        join([&known, &either, &map(1, ARRAY), &unchecked]),
        "may be null",
    );
    let elsewhere = [store_imm(8, 10, -8, 3)];
    rejected(
        join([
            &elsewhere,
            &map(1, HASH),
            &[copy(2, 10), add(2, -8), helper(1), load(8, 0, 0, 0), exit()],
        ]),
        "may be null",
    );
    let moved = [
        copy(2, 10),
        add(2, -4),
        helper(1),
        add(0, 8),
        mov(0, 0),
        exit(),
    ];
    rejected(join([&start, &map(1, ARRAY), &moved]), "may be null");
    let wrong = [
        copy(2, 10),
        add(2, -4),
        helper(1),
        branch(5, 0, 0, 2),
        load(8, 0, 0, 0),
        exit(),
        mov(0, 0),
        exit(),
    ];
    rejected(join([&start, &map(1, ARRAY), &wrong]), "holds no address");
    // Looked up twice in a loop: the first check says nothing of the second value.
    let twice = [copy(2, 10), add(2, -4), helper(1), copy(6, 0)];
    let again = [
        copy(2, 10),
        add(2, -4),
        helper(1),
        branch(1, 6, 0, 1),
        load(8, 3, 0, 0),
        mov(0, 0),
        exit(),
    ];
    rejected(
        join([&start, &map(1, ARRAY), &twice, &map(1, ARRAY), &again]),
        "may be null",
    );
}

#[test]
fn a_hash_may_lack_any_key() {
    let mut specs = maps();
    specs[HASH as usize].key_size = 4;
    let read = [copy(2, 10), add(2, -4), helper(1), load(8, 0, 0, 0), exit()];
    let slots = join([&[store_imm(4, 10, -4, 0)], &map(1, HASH), &read]);
    let program = Program::new(&slots, specs).unwrap();
    let found = Verified::new(program, layout()).unwrap_err();
    assert!(found.reason.contains("may be null"), "{found}");
}

#[test]
fn out_of_a_window() {
    let start = [load(8, 6, 1, 0), load(8, 7, 1, 8)];
    rejected(
        join([&start, &[load(1, 0, 6, 0), exit()]]),
        "outside the window",
    );
    rejected(
        join([&start, &[load(1, 0, 7, 0), exit()]]),
        "at the end of a window",
    );
    // Compared for one byte, read for two; compared, and read before it.
    for (bytes, offset) in [(2, 0), (1, 1), (1, -1), (8, -7)] {
        let compared = [
            copy(2, 6),
            add(2, 1),
            branch_register(2, 2, 7, 1),
            load(bytes, 0, 6, offset),
            mov(0, 0),
            exit(),
        ];
        rejected(join([&start, &compared]), "outside the window");
    }
    // Compared the wrong way round, with another window's end, or only for one of two paths.
    let wrong = [
        copy(2, 6),
        add(2, 1),
        branch_register(10, 2, 7, 1),
        load(1, 0, 6, 0),
        mov(0, 0),
        exit(),
    ];
    rejected(join([&start, &wrong]), "outside the window");
    let other = [
        load(8, 8, 1, 24),
        branch_register(3, 6, 8, 1),
        load(1, 0, 6, 0),
        mov(0, 0),
        exit(),
    ];
    rejected(join([&start, &other]), "compares an address");
    rejected(
        join([&start, &[store_imm(1, 6, 0, 1), mov(0, 0), exit()]]),
        "read-only",
    );
    // An index without a bound wraps around the address space.
    let wrap = [helper(5), add_register(6, 0), mov(0, 0), exit()];
    rejected(join([&start, &wrap]), "too far");
    // Moved in a loop that never compares.
    let lost = [add(6, 1), jump(-2)];
    rejected(join([&start, &lost]), "too far");
}

#[test]
fn read_only_data() {
    let address = |offset| wide(6, 2, CONSTANTS, offset);
    rejected(
        join([&address(0), &[store_imm(1, 6, 0, 1), mov(0, 0), exit()]]),
        "read-only",
    );
    rejected(
        join([&address(24), &[load(1, 0, 6, 0), exit()]]),
        "outside the map's value",
    );
    rejected(
        join([&address(25), &[mov(0, 0), exit()]]),
        "no value at byte",
    );
    rejected(
        join([&address(20), &[load(8, 0, 6, 0), exit()]]),
        "outside the map's value",
    );
    rejected(
        join([
            &address(0),
            &[mov(3, 1), atomic(8, 6, 0, 3, 0), mov(0, 0), exit()],
        ]),
        "read-only",
    );
    rejected(
        join([&wide(6, 2, HASH, 0), &[mov(0, 0), exit()]]),
        "no value at byte",
    );
    rejected(
        join([&wide(6, 2, 99, 0), &[mov(0, 0), exit()]]),
        "does not declare",
    );
}

#[test]
fn frames_that_are_gone() {
    // A function hands out the address of its own frame.
    let result = [
        call(2),
        load(8, 0, 0, -8),
        exit(),
        store_imm(8, 10, -8, 1),
        copy(0, 10),
        exit(),
    ];
    rejected(result, "r0 holds nothing");
    let hidden = [
        copy(1, 10),
        call(3),
        load(8, 2, 10, -8),
        mov(0, 0),
        exit(),
        store(8, 1, -8, 10),
        mov(0, 0),
        exit(),
    ];
    rejected(hidden, "not written on every path");
}
