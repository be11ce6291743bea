//! Programs that would do harm: each is rejected for its own reason, or stopped.

mod common;

use std::sync::Arc;

use common::*;
use filter_ebpf::compile::Compiled;
use filter_ebpf::insn::Raw;
use filter_ebpf::interpreter::{self, Fault};
use filter_ebpf::maps::Maps;

fn rejected(slots: impl IntoIterator<Item = Raw>, reason: &str) {
    let slots: Vec<Raw> = slots.into_iter().collect();
    match verify(&slots) {
        Ok(_) => panic!("accepted, expected a rejection with {reason:?}"),
        Err(found) => assert!(
            found.contains(reason),
            "found {found:?}, expected {reason:?}"
        ),
    }
}

fn join<const N: usize>(parts: [&[Raw]; N]) -> Vec<Raw> {
    parts.concat()
}

/// r6 becomes a value of the array, or the program ends.
fn value() -> Vec<Raw> {
    let start = [store_imm(4, 10, -4, 0)];
    let rest = [
        copy(2, 10),
        add(2, -4),
        helper(1),
        branch(5, 0, 0, 2),
        mov(0, 0),
        exit(),
        copy(6, 0),
        mov(0, 0),
    ];
    join([&start, &map(1, ARRAY), &rest])
}

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
    let start = [store_imm(4, 10, -4, 0)];
    let unchecked = [copy(2, 10), add(2, -4), helper(1), load(8, 0, 0, 0), exit()];
    rejected(join([&start, &map(1, ARRAY), &unchecked]), "may be null");
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
fn bad_jumps() {
    rejected([jump(5), mov(0, 0), exit()], "out of the program");
    rejected([jump(-2), mov(0, 0), exit()], "out of the program");
    rejected([jump(i16::MIN), exit()], "out of the program");
    rejected(
        join([&[jump(1)], &wide(0, 0, 1, 2), &[exit()]]),
        "into the middle",
    );
    rejected([call(7), exit()], "out of the program");
    rejected([mov(0, 0)], "neither an exit nor a jump");
    rejected(
        [mov(0, 0), branch(1, 0, 0, -2)],
        "neither an exit nor a jump",
    );
    rejected(
        [call(1), exit(), mov(0, 0), branch(1, 0, 0, -4), exit()],
        "another function",
    );
    rejected([raw(0x18, 0, 0, 0, 1)], "half of a 64-bit load");
    rejected([], "expected 1 to");
}

#[test]
fn bad_instructions() {
    for opcode in [
        0x00,
        0x20,
        0x28,
        0x40,
        0x48,
        0x06 | 0x80,
        0xe5,
        0xff,
        0x8d,
        0xf7,
    ] {
        assert!(
            verify(&[raw(opcode, 0, 0, 0, 0), mov(0, 0), exit()]).is_err(),
            "{opcode:#x}"
        );
    }
    rejected([raw(0xb7, 11, 0, 0, 0), exit()], "above r10");
    rejected([raw(0xbf, 0, 15, 0, 0), exit()], "above r10");
    rejected([mov(10, 0), exit()], "writes r10");
    rejected([load(8, 10, 1, 0), exit()], "writes r10");
    rejected(
        [mov(0, 1), raw(0x37, 0, 0, 0, 0), exit()],
        "divides by the constant 0",
    );
    rejected(
        [mov(0, 1), raw(0x67, 0, 0, 0, 64), exit()],
        "shifts by more bits",
    );
    rejected(
        [mov(0, 1), raw(0x64, 0, 0, 0, 32), exit()],
        "shifts by more bits",
    );
    rejected(
        [raw(0x18, 0, 3, 0, 0), raw(0, 0, 0, 0, 0), exit()],
        "unknown kind",
    );
}

#[test]
fn bad_arguments() {
    let key = [store_imm(4, 10, -4, 0), copy(2, 10), add(2, -4)];
    rejected([helper(9999), exit()], "no helper");
    rejected([helper(4), exit()], "no helper");
    rejected(
        join([&key, &[mov(1, 0), helper(1), mov(0, 0), exit()]]),
        "not a map",
    );
    rejected(join([&key, &[helper(1), mov(0, 0), exit()]]), "not a map");
    rejected(
        join([&map(1, ARRAY), &[mov(2, 0), helper(1), mov(0, 0), exit()]]),
        "holds no address",
    );
    rejected(
        join([
            &map(1, ARRAY),
            &[copy(2, 10), add(2, -4), helper(1), mov(0, 0), exit()],
        ]),
        "not written",
    );
    rejected(
        join([
            &map(1, ARRAY),
            &[copy(2, 10), add(2, -2), helper(1), mov(0, 0), exit()],
        ]),
        "outside its stack frame",
    );
    rejected(
        join([&key, &map(1, HASH), &[helper(1), mov(0, 0), exit()]]),
        "outside its stack frame",
    );
    rejected(
        join([&key, &map(1, EVENTS), &[helper(1), mov(0, 0), exit()]]),
        "queue of events",
    );
    rejected(
        join([
            &key,
            &map(1, CONSTANTS),
            &[copy(3, 2), mov(4, 0), helper(2), mov(0, 0), exit()],
        ]),
        "read-only",
    );
    let sized = |size: &[Raw]| {
        join([
            &key,
            &map(1, EVENTS),
            size,
            &[mov(4, 0), helper(130), mov(0, 0), exit()],
        ])
    };
    rejected(sized(&[mov(3, 0)]), "a size");
    rejected(sized(&[mov(3, -1)]), "a size");
    rejected(sized(&[mov(3, 5)]), "outside its stack frame");
    rejected(sized(&[copy(3, 10)]), "a number is needed");
}

#[test]
fn what_was_never_written() {
    rejected([exit()], "r0, the result");
    rejected([copy(0, 5), exit()], "was not written");
    rejected(
        [mov(0, 0), branch_register(1, 0, 3, 0), exit()],
        "was not written",
    );
    rejected([helper(7), copy(0, 1), exit()], "was not written");
    rejected(
        [copy(6, 1), call(2), mov(0, 0), exit(), copy(0, 6), exit()],
        "was not written",
    );
    // Written on one path only.
    rejected(
        [helper(7), branch(1, 0, 0, 1), mov(3, 1), copy(0, 3), exit()],
        "was not written",
    );
    let half = [store_imm(4, 10, -8, 0), load(8, 0, 10, -8), exit()];
    rejected(half, "not written on every path");
    rejected(
        [
            helper(7),
            branch(1, 0, 0, 1),
            store_imm(8, 10, -8, 1),
            load(8, 0, 10, -8),
            exit(),
        ],
        "not written on every path",
    );
}

#[test]
fn addresses_that_would_leave_the_program() {
    rejected([copy(0, 1), exit()], "r0, the result");
    rejected([copy(0, 10), exit()], "r0, the result");
    rejected(
        join([&value(), &[store(8, 6, 0, 10), exit()]]),
        "writes an address where others",
    );
    rejected([raw(0xbc, 0, 10, 0, 0), exit()], "half of an address");
    rejected(
        [copy(0, 10), raw(0x77, 0, 0, 0, 1), exit()],
        "computes with an address",
    );
    rejected(
        [copy(0, 10), raw(0xaf, 0, 0, 0, 0), exit()],
        "computes with an address",
    );
    rejected(
        [store(8, 10, -8, 10), load(4, 0, 10, -8), exit()],
        "part of an address",
    );
    rejected(
        [
            store(8, 10, -8, 10),
            store_imm(1, 10, -8, 0),
            load(8, 0, 10, -8),
            exit(),
        ],
        "part of an address",
    );
    rejected(
        [copy(0, 1), branch(2, 0, 5, 0), mov(0, 0), exit()],
        "compares an address",
    );
    rejected(
        [copy(0, 10), raw(0x1f, 0, 1, 0, 0), exit()],
        "different regions",
    );
    // An address as an event.
    let event = [
        store(8, 10, -8, 10),
        copy(2, 10),
        add(2, -8),
        mov(3, 8),
        mov(4, 0),
        helper(130),
        mov(0, 0),
        exit(),
    ];
    rejected(join([&map(1, EVENTS), &event]), "part of an address");
    rejected(
        [
            mov(2, 0),
            store(8, 10, -8, 10),
            atomic(8, 10, -8, 2, 0xe1),
            copy(0, 2),
            exit(),
        ],
        "changes an address",
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

#[test]
fn calls_without_end() {
    rejected([call(1), exit(), call(-1), exit()], "in a circle");
    rejected([call(-1), exit()], "in a circle");
    let mut deep: Vec<Raw> = (0..8).flat_map(|_| [call(1), exit()]).collect();
    deep.extend([mov(0, 0), exit()]);
    rejected(deep.clone(), "deeper than 8");
    assert!(verify(&deep[2..]).is_ok());
}

#[test]
fn loops_without_end_are_stopped_in_compiled_code_and_in_the_interpreter() {
    let endless: [&[Raw]; 4] = [
        &[mov(0, 0), jump(-1)],
        &[mov(0, 0), add(0, 1), branch(5, 0, -1, -2), exit()],
        &[mov(0, 0), call(2), jump(-2), exit(), mov(0, 1), exit()],
        // In a function: its callers end, too.
        &[call(2), mov(0, 7), exit(), mov(0, 0), jump(-1)],
    ];
    for slots in endless {
        let verified = verify(slots).expect("harmless but for its length");
        let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
        let compiled = Compiled::new(&verified, Arc::clone(&maps)).unwrap();
        assert!(compiled.run([b"/", b""], 10_000).is_err());
        let fault = interpreter::run(verified.program(), &maps, &[b"/", b""], 10_000);
        assert_eq!(fault, Err(Fault::OutOfFuel));
    }
}

#[test]
fn dividing_by_zero_gives_zero_and_the_remainder_is_the_dividend() {
    let divide = |opcode: u8, signed: i16, dividend: i32, divisor: i32| {
        let slots = [
            mov(0, dividend),
            mov(2, divisor),
            raw(opcode, 0, 2, signed, 0),
            exit(),
        ];
        let verified = verify(&slots).unwrap();
        agree::check(&verified, [b"", b""]).unwrap()
    };
    for signed in [0, 1] {
        assert_eq!(divide(0x3f, signed, 7, 0), 0);
        assert_eq!(divide(0x9f, signed, 7, 0), 7);
        assert_eq!(divide(0x3c, signed, 7, 0), 0);
        assert_eq!(divide(0x9c, signed, 7, 0), 7);
    }
    assert_eq!(divide(0x3c, 1, i32::MIN, -1), 0x8000_0000);
    assert_eq!(divide(0x9c, 1, i32::MIN, -1), 0);
    assert_eq!(divide(0x3f, 1, -7, 2) as i64, -3);
}

#[test]
fn a_program_too_complex_to_verify() {
    // Calls of calls: each level is verified anew at each of its call sites.
    let mut slots = Vec::new();
    for level in 0..7i32 {
        let calls = if level == 6 { 0 } else { 12 };
        let length = calls + 2;
        for n in 0..calls {
            slots.push(call(length - n - 1));
        }
        slots.extend([mov(0, 0), exit()]);
    }
    rejected(slots, "too many steps");
}
