//! Indices into a window: room that one comparison shows must not be found for another index.

use super::common::*;
use super::{join, rejected};
use filter_ebpf::insn::Raw;

const ABOVE: u8 = 2;
const OUTSIDE: &str = "outside the window";

/// r6 and r7 are the window's start and end, r2 a number below 256 that nobody knows.
fn start() -> [Raw; 4] {
    [
        load(8, 6, 1, 0),
        load(8, 7, 1, 8),
        helper(7),
        raw(0x57, 0, 0, 0, 255),
    ]
}

/// r4 = r6 + r0, and the program goes on only if it has `bytes` bytes behind it.
fn compared(bytes: i32) -> Vec<Raw> {
    vec![
        copy(2, 0),
        copy(4, 6),
        add_register(4, 2),
        add(4, bytes),
        branch_register(ABOVE + 1, 7, 4, 2),
        mov(0, 0),
        exit(),
    ]
}

/// Read `bytes` bytes at r6 + r2 + `offset`.
fn again(bytes: u8, offset: i16) -> Vec<Raw> {
    vec![
        copy(5, 6),
        add_register(5, 2),
        load(bytes, 3, 5, offset),
        mov(0, 0),
        exit(),
    ]
}

fn with(change: &[Raw], bytes: u8, offset: i16) -> Vec<Raw> {
    join([&start(), &compared(4), change, &again(bytes, offset)])
}

#[test]
fn an_address_that_is_computed_again_has_the_room_that_was_found_and_no_more() {
    assert!(verify(&with(&[], 4, 0)).is_ok());
    assert!(verify(&with(&[], 1, 3)).is_ok());
    rejected(with(&[], 8, 0), OUTSIDE);
    rejected(with(&[], 4, 1), OUTSIDE);
    rejected(with(&[], 1, -1), OUTSIDE);
}

#[test]
fn an_address_that_may_be_null_has_the_index_of_no_other_number() {
    // r4 = r6 + r2, or null and r2 another number. What is found of it says nothing of r3.
    let slots = join([
        &[load(8, 6, 1, 0), load(8, 7, 1, 8)],
        &[helper(7), copy(8, 0), helper(7), raw(0x57, 0, 0, 0, 255)],
        &[copy(2, 0), copy(3, 8), raw(0x57, 3, 0, 0, 255), copy(0, 3)],
        &[mov(0, 0), branch(1, 8, 0, 3)],
        &[copy(4, 6), add_register(4, 2), jump(2)],
        &[mov(4, 0), mov(2, 5)],
        &[
            branch(1, 4, 0, 5),
            add(4, 1),
            branch_register(ABOVE, 4, 7, 3),
        ],
        &[copy(5, 6), add_register(5, 3), load(1, 3, 5, 0)],
        &[mov(0, 0), exit()],
    ]);
    rejected(slots, OUTSIDE);
}

#[test]
fn an_index_that_was_moved_has_as_much_less() {
    assert!(verify(&with(&[add(2, 2)], 2, 0)).is_ok());
    assert!(verify(&with(&[raw(0x04, 2, 0, 0, 2)], 2, 0)).is_ok());
    rejected(with(&[add(2, 2)], 4, 0), OUTSIDE);
    rejected(with(&[add(2, 1)], 4, 0), OUTSIDE);
    // Below the start.
    rejected(with(&[add(2, -1)], 4, 0), OUTSIDE);
    // By a number that is not known, doubled, shifted, or another one altogether.
    rejected(
        with(&[helper(7), raw(0x57, 0, 0, 0, 7), copy(2, 0)], 1, 0),
        OUTSIDE,
    );
    let other: [&[Raw]; 6] = [
        &[add_register(2, 2)],
        &[raw(0x67, 2, 0, 0, 1)],
        &[raw(0x27, 2, 0, 0, 2)],
        &[raw(0x47, 2, 0, 0, 64)],
        &[raw(0xa7, 2, 0, 0, 1)],
        &[mov(2, 255)],
    ];
    for change in other {
        rejected(with(change, 1, 0), OUTSIDE);
    }
}

#[test]
fn an_index_behind_another_start_has_as_much_less() {
    let behind = |bytes| {
        let read = [
            copy(5, 6),
            add(5, 2),
            add_register(5, 2),
            load(bytes, 3, 5, 0),
        ];
        join([&start(), &compared(4), &read, &[mov(0, 0), exit()]])
    };
    assert!(verify(&behind(2)).is_ok());
    rejected(behind(4), OUTSIDE);
}

#[test]
fn an_index_that_was_moved_and_wrapped_around_has_none() {
    // 0 - 1 + 1 is 0 in 32 bits, and far away if only the second is of 32 bits.
    rejected(with(&[add(2, -1), raw(0x04, 2, 0, 0, 1)], 1, 0), "too far");
    let far = wide(3, 0, -1, i32::MAX);
    let wraps = join([&far, &[add_register(2, 3), add(2, 1)]]);
    rejected(with(&wraps, 1, 0), "too far");
}

#[test]
fn room_in_one_window_is_none_in_another() {
    // r8 and r9 are the second window's start; the index was compared in the first.
    let second = [
        load(8, 8, 9, 16),
        add_register(8, 2),
        load(1, 3, 8, 0),
        mov(0, 0),
        exit(),
    ];
    let slots = join([&[copy(9, 1)], &start(), &compared(4), &second]);
    rejected(slots, OUTSIDE);
}

#[test]
fn room_found_on_one_path_is_none_on_the_other() {
    // Compared only if a number says so.
    let either = [
        copy(8, 0),
        helper(7),
        copy(2, 8),
        branch(1, 0, 0, 5),
        copy(4, 6),
        add_register(4, 2),
        add(4, 1),
        branch_register(ABOVE, 4, 7, 2),
        jump(1),
        jump(0),
    ];
    rejected(join([&start(), &either, &again(1, 0)]), OUTSIDE);
    // Not less than the end is not enough.
    let wrong = [
        copy(2, 0),
        copy(4, 6),
        add_register(4, 2),
        branch_register(ABOVE, 4, 7, 0),
    ];
    rejected(join([&start(), &wrong, &again(1, 0)]), OUTSIDE);
}

#[test]
fn a_window_has_the_size_that_was_found_on_every_path() {
    let slots = |bytes: i32| {
        let compared = [
            copy(8, 0),
            copy(4, 6),
            add(4, bytes),
            branch_register(ABOVE + 1, 7, 4, 2),
            mov(0, 0),
            exit(),
        ];
        // Eight bytes on one path; then an index of 0 or 1.
        let either = [
            branch(1, 8, 3, 5),
            copy(4, 6),
            add(4, 8),
            branch_register(ABOVE + 1, 7, 4, 2),
            mov(0, 0),
            exit(),
            mov(2, 0),
            branch(1, 8, 7, 1),
            mov(2, 1),
        ];
        join([&start(), &compared, &either, &again(1, 0)])
    };
    assert!(verify(&slots(2)).is_ok());
    rejected(slots(1), OUTSIDE);
}

#[test]
fn a_loop_must_compare_in_each_turn() {
    // The first turn's comparison says nothing of the second one's index.
    let body = |compare: bool| {
        let check = [
            copy(4, 6),
            add_register(4, 2),
            add(4, 1),
            branch_register(ABOVE, 4, 7, 5),
        ];
        let read = [copy(5, 6), add_register(5, 2), load(1, 3, 5, 0), add(2, 1)];
        let again = |length: i16| branch(10, 2, 64, -length - 1);
        let out = [mov(0, 0), exit()];
        if compare {
            join([&[mov(2, 0)], &check, &read, &[again(8)], &out])
        } else {
            join([&[mov(2, 0)], &check, &read, &[again(4)], &out])
        }
    };
    assert!(verify(&join([&start()[..2], &body(true)])).is_ok());
    rejected(join([&start()[..2], &body(false)]), OUTSIDE);
}

#[test]
fn the_length_of_a_window_as_an_index() {
    let length = [copy(2, 7), raw(0x1f, 2, 6, 0, 0)];
    // The last byte is before it, and nothing at it.
    let small = [branch(ABOVE, 2, 100, 1), jump(2), mov(0, 0), exit()];
    rejected(
        join([&start()[..2], &length, &small, &again(1, 0)]),
        OUTSIDE,
    );
    rejected(
        join([&start()[..2], &length, &small, &again(1, -1)]),
        OUTSIDE,
    );
}

/// r6 and r7 become the first window's start and end, r0 a number below 256 of which `start + number` is not
/// beyond the end.
fn tail() -> Vec<Raw> {
    join([
        &[load(8, 6, 1, 0), load(8, 7, 1, 8), load(8, 9, 1, 16)],
        &[helper(7), raw(0x57, 0, 0, 0, 0xff)],
        &[copy(1, 6), add_register(1, 0)],
        &[branch_register(11, 1, 7, 2), mov(0, 0), exit()],
    ])
}

#[test]
fn what_a_number_says_of_a_window_that_it_does_not_say() {
    let at_least = |least: i32, rest: &[Raw]| {
        let enough = [branch(3, 0, least, 2), mov(0, 0), exit()];
        join([&tail(), &enough, rest, &[mov(0, 0), exit()]])
    };
    for (least, bytes) in [(1, 1), (2, 2), (4, 4), (8, 8)] {
        let read = [load(bytes, 2, 6, 0)];
        assert_eq!(verify(&at_least(least, &read)).err(), None);
        rejected(at_least(least - 1, &read), "outside the window");
        // One more, one before, and the other window.
        rejected(
            at_least(least, &[load(bytes, 2, 6, 1)]),
            "outside the window",
        );
        rejected(
            at_least(least, &[load(bytes, 2, 6, -1)]),
            "outside the window",
        );
        rejected(
            at_least(least, &[load(bytes, 2, 9, 0)]),
            "outside the window",
        );
    }
    // A number that was moved: there are as many bytes less behind it.
    let moved = |by: i32, least: i32| {
        let enough = [add(0, by), branch(3, 0, least, 2), mov(0, 0), exit()];
        join([&tail(), &enough, &[load(4, 2, 6, 0), mov(0, 0), exit()]])
    };
    assert_eq!(verify(&moved(1, 5)).err(), None);
    rejected(moved(1, 4), "outside the window");
    // Another number.
    let other = [helper(7), branch(3, 0, 100, 2), mov(0, 0), exit()];
    let read = [load(8, 2, 6, 0), mov(0, 0), exit()];
    rejected(join([&tail(), &other, &read]), "outside the window");
}
