//! Indices that a careless verifier takes for smaller than they are: after the faults of the kernel's
//! verifier, each a step on the way to an index into the array's value of 16 bytes.

use super::common::*;
use super::{join, rejected, value};
use filter_ebpf::insn::Raw;

/// r0 becomes a number that nobody knows, r6 is the array's value.
fn unknown() -> Vec<Raw> {
    join([&value(), &[helper(5)]])
}

/// Read a byte at r6 + r0.
fn read() -> [Raw; 4] {
    [add_register(6, 0), load(1, 3, 6, 0), mov(0, 0), exit()]
}

/// A jump in 32 bits by its number, against a constant.
fn branch32(cond: u8, dst: u8, imm: i32, offset: i16) -> Raw {
    raw(cond << 4 | 6, dst, 0, offset, imm)
}

const EQ: u8 = 1;
const GT: u8 = 2;
const SET: u8 = 4;
const NE: u8 = 5;
const SGT: u8 = 6;
const LT: u8 = 10;
const SLT: u8 = 12;

/// Leave with 0: what a comparison that holds jumps over.
const LEAVE: [Raw; 2] = [
    Raw {
        opcode: 0xb7,
        dst: 0,
        src: 0,
        offset: 0,
        imm: 0,
    },
    Raw {
        opcode: 0x95,
        dst: 0,
        src: 0,
        offset: 0,
        imm: 0,
    },
];

#[test]
fn no_step_makes_an_index_smaller_than_it_is() {
    let steps: &[(&str, &[Raw])] = &[
        ("nothing", &[]),
        ("a mask that is too wide", &[raw(0x57, 0, 0, 0, 31)]),
        ("a mask with its sign", &[raw(0x57, 0, 0, 0, -16)]),
        (
            "a mask in 32 bits of the upper half",
            &[raw(0x77, 0, 0, 0, 28)],
        ),
        (
            "or with a constant",
            &[raw(0x57, 0, 0, 0, 8), raw(0x47, 0, 0, 0, 16)],
        ),
        (
            "exclusive or with a constant",
            &[raw(0x57, 0, 0, 0, 15), raw(0xa7, 0, 0, 0, 16)],
        ),
        ("a shift of too few bits", &[raw(0x77, 0, 0, 0, 59)]),
        ("an arithmetic shift", &[raw(0xc7, 0, 0, 0, 60)]),
        (
            "a shift by an unknown amount",
            &[mov(2, 1), raw(0x6f, 2, 0, 0, 0), copy(0, 2)],
        ),
        (
            "a remainder by an unknown number",
            &[mov(2, 15), raw(0x9f, 2, 0, 0, 0), raw(0x9f, 0, 2, 0, 0)],
        ),
        ("a signed remainder", &[raw(0x97, 0, 0, 1, 16)]),
        ("a signed quotient", &[raw(0x37, 0, 0, 1, i32::MAX)]),
        ("a quotient in 64 bits", &[raw(0x37, 0, 0, 0, 1 << 30)]),
        (
            "a product that wraps around",
            &[raw(0x57, 0, 0, 0, 1), raw(0x27, 0, 0, 0, 16)],
        ),
        (
            "a negation",
            &[raw(0x57, 0, 0, 0, 15), raw(0x87, 0, 0, 0, 0)],
        ),
        (
            "a sum that is too large",
            &[raw(0x57, 0, 0, 0, 15), add(0, 1)],
        ),
        (
            "a difference below zero",
            &[raw(0x57, 0, 0, 0, 15), add(0, -1)],
        ),
        (
            "swapped bytes",
            &[raw(0x57, 0, 0, 0, 15), raw(0xd7, 0, 0, 0, 64)],
        ),
        (
            "a half of swapped bytes",
            &[raw(0x57, 0, 0, 0, 15), raw(0xdc, 0, 0, 0, 16)],
        ),
        ("a sign extended byte", &[raw(0xbf, 0, 0, 8, 0)]),
        (
            "a sign extended half",
            &[raw(0xbc, 0, 0, 16, 0), raw(0x77, 0, 0, 0, 27)],
        ),
    ];
    for (name, step) in steps {
        let slots = join([&unknown(), step, &read()]);
        let found = verify(&slots)
            .err()
            .unwrap_or_else(|| panic!("{name}: accepted"));
        assert!(
            found.contains("outside the map's value") || found.contains("too far"),
            "{name}: {found}"
        );
    }
}

#[test]
fn no_comparison_makes_an_index_smaller_than_it_is() {
    let compared: &[(&str, Raw)] = &[
        (
            "above in 32 bits, with an upper half",
            branch32(LT, 0, 16, 2),
        ),
        ("below with a sign", branch(SLT, 0, 16, 2)),
        ("below with a sign in 32 bits", branch32(SLT, 0, 16, 2)),
        ("one too many", branch(LT, 0, 17, 2)),
        ("the wrong way round", branch(GT, 0, 15, 2)),
        ("not equal", branch(NE, 0, 100, 2)),
        ("equal in 32 bits", branch32(EQ, 0, 5, 2)),
        ("equal to a negative number", branch(EQ, 0, -1, 2)),
        ("a bit that is set", branch(SET, 0, 1, 2)),
        ("above with a sign", branch(SGT, 0, -1, 2)),
    ];
    for (name, compare) in compared {
        let slots = join([&unknown(), &[*compare], &LEAVE, &read()]);
        let found = verify(&slots)
            .err()
            .unwrap_or_else(|| panic!("{name}: accepted"));
        assert!(
            found.contains("outside the map's value") || found.contains("too far"),
            "{name}: {found}"
        );
    }
    // Both sides in 32 bits, and the upper half as it was.
    let both = [
        branch32(SLT, 0, 16, 2),
        LEAVE[0],
        LEAVE[1],
        branch32(SGT, 0, -1, 2),
    ];
    rejected(join([&unknown(), &both, &LEAVE, &read()]), "too far");
    let extended = [raw(0xbc, 0, 0, 0, 0)];
    assert!(verify(&join([&unknown(), &both, &LEAVE, &extended, &read()])).is_ok());
    let shifted = [raw(0x67, 0, 0, 0, 32), raw(0xc7, 0, 0, 0, 32)];
    assert!(verify(&join([&unknown(), &both, &LEAVE, &shifted, &read()])).is_ok());
    // Not a pair of shifts: another amount, another register, a jump between.
    let other = [raw(0x67, 0, 0, 0, 32), raw(0xc7, 0, 0, 0, 31)];
    rejected(
        join([&unknown(), &both, &LEAVE, &other, &read()]),
        "too far",
    );
    let other = [copy(2, 0), raw(0x67, 2, 0, 0, 32), raw(0xc7, 0, 0, 0, 32)];
    rejected(
        join([&unknown(), &both, &LEAVE, &other, &read()]),
        "too far",
    );
    let between = [
        helper(5),
        branch(EQ, 0, 7, 1),
        raw(0x67, 0, 0, 0, 32),
        raw(0x77, 0, 0, 0, 32),
    ];
    assert!(verify(&join([&value(), &between, &read()])).is_err());
}

#[test]
fn a_number_is_tied_to_its_copy_and_to_nothing_else() {
    // The copy is compared, and the number changed before or after.
    let compare = |copy: u8| [branch(LT, copy, 16, 2), LEAVE[0], LEAVE[1]];
    let tied = join([&unknown(), &[copy(2, 0)], &compare(2), &read()]);
    assert!(verify(&tied).is_ok());
    let small = raw(0x57, 0, 0, 0, 0xffff);
    let added = [small, copy(2, 0), add(2, 4)];
    let added = join([&unknown(), &added, &compare(2), &[add(0, 4)], &read()]);
    assert!(verify(&added).is_ok());
    let less = join([&unknown(), &[copy(2, 0), add(2, 4)], &compare(2), &read()]);
    rejected(less, "too far");
    let before: &[&[Raw]] = &[
        &[copy(2, 0), helper(5), copy(2, 0), helper(5)],
        &[copy(2, 0), add_register(0, 0)],
        &[copy(2, 0), raw(0x67, 0, 0, 0, 1)],
        &[raw(0xbc, 2, 0, 0, 0)],
        &[copy(2, 0), raw(0x57, 2, 0, 0, 255)],
        &[copy(2, 0), add(0, 1)],
    ];
    for change in before {
        let slots = join([
            &unknown(),
            &[store(8, 10, -16, 0), mov(2, 0)],
            change,
            &compare(2),
            &read(),
        ]);
        assert!(verify(&slots).is_err(), "{change:?}");
    }
}

#[test]
fn what_is_known_of_the_stack_is_forgotten_when_it_is_written() {
    let byte = |at| store_imm(1, 10, at, 3);
    let start = [store_imm(8, 10, -16, 3), store_imm(8, 10, -24, 3)];
    let read = [
        load(8, 0, 10, -16),
        add_register(6, 0),
        load(1, 3, 6, 0),
        mov(0, 0),
        exit(),
    ];
    let known = join([&value(), &start, &[byte(-16)], &read]);
    assert!(verify(&known).is_ok());
    let unknown: &[&[Raw]] = &[
        &[helper(5), store(1, 10, -16, 0)],
        &[helper(5), store(1, 10, -9, 0)],
        &[store_imm(1, 10, -16, 16)],
        &[store_imm(1, 10, -9, 1)],
        &[helper(5), atomic(8, 10, -16, 0, 0)],
        &[mov(2, 1), atomic(4, 10, -16, 2, 0x01)],
        // Somewhere in both.
        &[
            helper(7),
            raw(0x57, 0, 0, 0, 8),
            copy(2, 10),
            raw(0x1f, 2, 0, 0, 0),
            store_imm(1, 2, -16, 77),
        ],
    ];
    for change in unknown {
        let slots = join([&value(), &start, change, &read]);
        assert!(verify(&slots).is_err(), "{change:?}");
    }
    // By a function that has its address.
    let function = [store_imm(8, 1, -16, 99), mov(0, 0), exit()];
    let slots = join([&value(), &start, &[copy(1, 10), call(5)], &read, &function]);
    rejected(slots, "outside the map's value");
}
