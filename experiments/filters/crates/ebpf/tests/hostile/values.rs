//! Values that must not be used, or must not leave the program.

use super::common::*;
use super::{join, rejected, value};
use filter_ebpf::insn::Raw;

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
    assert!(verify(&sized(&[mov(3, 0)])).is_ok());
    let text = [copy(1, 2), mov(2, 0), helper(6), mov(0, 0), exit()];
    rejected(join([&key, &text]), "a size, may be 0");
    rejected(sized(&[mov(3, -1)]), "a size");
    rejected(sized(&[mov(3, 5)]), "outside its stack frame");
    rejected(sized(&[copy(3, 10)]), "a number is needed");
}

#[test]
fn bad_arguments_of_comparisons() {
    let stack = [store_imm(8, 10, -8, 0), copy(1, 10), add(1, -8), copy(2, 1)];
    let memcmp = [helper(1 << 24), exit()];
    let compared = |size: &[Raw]| join([&stack, size, &memcmp]);
    assert!(verify(&compared(&[mov(3, 8)])).is_ok());
    assert!(verify(&compared(&[mov(3, 0)])).is_ok());
    rejected(compared(&[mov(3, 9)]), "outside its stack frame");
    rejected(compared(&[mov(3, -1)]), "may be more than 65536");
    rejected(compared(&[copy(3, 10)]), "a number is needed");
    rejected(
        compared(&[mov(3, 8), copy(2, 10)]),
        "outside its stack frame",
    );
    rejected(compared(&[mov(3, 8), add(1, -8)]), "not written");
    rejected(
        compared(&[mov(3, 8), store(8, 10, -8, 10)]),
        "part of an address",
    );
    let strncmp = [mov(2, 8), helper(182), exit()];
    let compared = |text: &[Raw]| join([&stack, text, &strncmp]);
    assert!(verify(&compared(&wide(3, 2, CONSTANTS, 16))).is_ok());
    rejected(
        compared(&wide(3, 2, CONSTANTS, 17)),
        "outside the map's value",
    );
    rejected(compared(&[mov(3, 0)]), "holds no address");
    rejected(compared(&[]), "holds nothing that may be used");
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
    let half = raw(0xbc, 0, 10, 0, 0);
    rejected([half, exit()], "r0, the result");
    rejected(
        [half, raw(0x04, 0, 0, 0, 1), exit()],
        "computes with an address",
    );
    rejected([half, branch(1, 0, 0, 0), exit()], "compares an address");
    rejected(
        join([&value(), &[half, store(8, 6, 0, 0), exit()]]),
        "writes an address",
    );
    rejected(
        [half, store(8, 10, -8, 0), load(4, 0, 10, -8), exit()],
        "part of an address",
    );
    let distance = |other| [half, raw(0x1c, 0, other, 0, 0), exit()];
    rejected(distance(1), "different regions");
    assert!(verify(&distance(10)).is_ok());
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
