//! Programs that lose, reuse or leave what they reserve in queues.

use std::sync::Arc;

use filter_ebpf::compile::{Compiled, OutOfFuel};
use filter_ebpf::fuel;
use filter_ebpf::insn::Raw;
use filter_ebpf::interpreter::{self, Fault};
use filter_ebpf::maps::Maps;

use super::common::*;
use super::{join, rejected, value};

const RESERVE: i32 = 131;
const SUBMIT: i32 = 132;
const DISCARD: i32 = 133;
const LOST: &str = "reserved is neither submitted nor discarded";

/// r0 becomes the address of so many bytes, or null.
fn asked(bytes: i32) -> Vec<Raw> {
    join([
        &map(1, EVENTS),
        &[mov(2, bytes), mov(3, 0), helper(RESERVE)],
    ])
}

/// r6 becomes the address of 16 bytes, or the program ends.
fn reserved() -> Vec<Raw> {
    let rest = [branch(5, 0, 0, 2), mov(0, 0), exit(), copy(6, 0)];
    join([&asked(16), &rest])
}

fn finish(register: u8, number: i32) -> [Raw; 3] {
    [copy(1, register), mov(2, 0), helper(number)]
}

fn end() -> [Raw; 2] {
    [mov(0, 0), exit()]
}

#[test]
fn something_is_left() {
    rejected(join([&asked(16), &end()]), LOST);
    rejected(join([&reserved(), &end()]), LOST);
    // Its address is lost.
    let lost = [mov(6, 0), mov(0, 0), exit()];
    rejected(join([&reserved(), &lost]), LOST);
    // On one path of two.
    let one = join([
        &reserved(),
        &[load(4, 7, 6, 0), branch(1, 7, 0, 3)],
        &finish(6, SUBMIT),
        &end(),
    ]);
    rejected(one, LOST);
    // By a function.
    let called = join([&[call(2)], &end(), &asked(8), &end()]);
    rejected(called, LOST);
    // Returned, as an address.
    rejected(join([&asked(8), &[exit()]]), LOST);
}

#[test]
fn something_is_finished_that_is_not_reserved() {
    let submit = |register| join([&finish(register, SUBMIT), &end()]);
    // It may be null.
    rejected(
        join([&asked(16), &[copy(6, 0)], &submit(6)]),
        "r1 may be null",
    );
    // Twice, or both ways.
    for second in [SUBMIT, DISCARD] {
        let twice = join([&reserved(), &finish(6, SUBMIT), &finish(6, second), &end()]);
        rejected(twice, "r6 holds nothing that may be used");
    }
    // A copy of what is finished, in a register and on the stack.
    let copied = join([&reserved(), &[copy(7, 6)], &finish(6, DISCARD), &submit(7)]);
    rejected(copied, "r7 holds nothing that may be used");
    let spilled = join([
        &reserved(),
        &[store(8, 10, -8, 6)],
        &finish(6, DISCARD),
        &[load(8, 7, 10, -8)],
        &submit(7),
    ]);
    rejected(spilled, "reads bytes of the stack that were not written");
    // Another address.
    let moved = join([&reserved(), &[add(6, 8)], &submit(6)]);
    rejected(moved, "r1 is not the first byte of what was reserved");
    let kind = "r1 is not what bpf_ringbuf_reserve returned";
    rejected(join([&value(), &submit(6)]), kind);
    rejected(join([&[copy(6, 10), add(6, -8)], &submit(6)]), kind);
    rejected(join([&[mov(6, 0)], &submit(6)]), "r1 holds no address");
    // Reserved on one path only, and not compared with null afterwards.
    let sometimes = join([
        &[load(8, 2, 1, 0), load(8, 3, 1, 8), mov(6, 0)],
        &[branch_register(1, 2, 3, 9)],
        &reserved(),
        &submit(6),
    ]);
    rejected(sometimes, "r1 may be null");
    // What has no result.
    let result = join([&reserved(), &finish(6, SUBMIT), &[exit()]]);
    rejected(result, "r0, the result, holds no number");
}

#[test]
fn memory_is_used_that_is_not_reserved() {
    let after = |access: &[Raw]| join([&reserved(), &finish(6, SUBMIT), access, &end()]);
    let gone = "r6 holds nothing that may be used";
    rejected(after(&[load(8, 2, 6, 0)]), gone);
    rejected(after(&[store_imm(8, 6, 0, 1)]), gone);
    let within = |access: &[Raw]| join([&reserved(), access, &finish(6, SUBMIT), &end()]);
    let outside = "may reach outside what was reserved";
    // Beyond it, and the head before it, which readers go by.
    rejected(within(&[store_imm(8, 6, 16, 1)]), outside);
    rejected(within(&[store_imm(1, 6, 16, 1)]), outside);
    rejected(within(&[store_imm(4, 6, -8, 1)]), outside);
    rejected(within(&[load(4, 2, 6, -4)]), outside);
    let counted = [load(8, 2, 6, 0), copy(3, 6), add_register(3, 2)];
    rejected(within(&counted), "moves an address too far");
    let index = [
        load(1, 2, 6, 0),
        copy(3, 6),
        add_register(3, 2),
        load(1, 3, 3, 0),
    ];
    rejected(within(&index), outside);
    let twisted = [mov(2, 1), atomic(8, 6, 4, 2, 0)];
    rejected(within(&twisted), "may not be a multiple of 8");
    // Before it is compared with null.
    rejected(
        join([&asked(16), &[store_imm(8, 0, 0, 1)], &end()]),
        "r0 may be null",
    );
    // Addresses in it.
    let told = [store(8, 6, 0, 10)];
    rejected(within(&told), "writes an address where others can read it");
}

#[test]
fn one_address_is_made_null_and_another_is_not() {
    let says_nothing = "r6 holds nothing that may be used";
    // r7 is null where r6 is not.
    let crossed = join([
        &reserved(),
        &[copy(7, 6), load(4, 8, 6, 0), branch(1, 8, 0, 2)],
        &[mov(7, 0), jump(1), mov(6, 0)],
        &[branch(1, 6, 0, 4), store_imm(8, 7, 0, 1)],
        &finish(6, SUBMIT),
        &end(),
    ]);
    rejected(crossed, says_nothing);
    // r7 is still an address where r6 is null, and becomes the result.
    let told = join([
        &reserved(),
        &[copy(7, 6), load(4, 8, 6, 0), branch(1, 8, 0, 1), mov(6, 0)],
        &[branch(5, 6, 0, 2), copy(0, 7), exit()],
        &finish(7, SUBMIT),
        &end(),
    ]);
    rejected(told, says_nothing);
    // Before r0 is compared with null.
    let early = join([
        &[copy(9, 1)],
        &asked(16),
        &[copy(6, 0), copy(7, 0), load(8, 2, 9, 0), load(8, 3, 9, 8)],
        &[branch_register(1, 2, 3, 2), mov(7, 0), jump(1), mov(6, 0)],
        &[branch(1, 6, 0, 4), store_imm(8, 7, 0, 1)],
        &finish(6, SUBMIT),
        &end(),
    ]);
    rejected(early, says_nothing);
    // Nothing is reserved where they are null.
    let sometimes = join([
        &[load(8, 2, 1, 0), load(8, 3, 1, 8), mov(6, 0), mov(7, 0)],
        &[branch_register(1, 2, 3, 10)],
        &reserved(),
        &[copy(7, 6), branch(1, 6, 0, 4), store_imm(8, 7, 0, 1)],
        &finish(7, SUBMIT),
        &end(),
    ]);
    assert_eq!(both(&sometimes, fuel::DEFAULT).0, Some(0));
}

#[test]
fn too_much_is_reserved() {
    let again = join([&asked(8), &[branch(1, 0, 0, 1), jump(-7)], &end()]);
    rejected(again, "reserves again what was reserved here");
    let many = join([&asked(8).repeat(9), &end()]);
    rejected(many, "reserves more than 8 records at once");
    let unknown = join([
        &[load(8, 2, 1, 0), load(8, 3, 1, 8), raw(0x1f, 3, 2, 0, 0)],
        &[raw(0x57, 3, 0, 0, 63), copy(2, 3)],
        &map(1, EVENTS),
        &[mov(3, 0), helper(RESERVE)],
        &end(),
    ]);
    rejected(unknown, "r2, a size, is not the same on every path");
    rejected(
        join([&asked(65_537), &end()]),
        "r2, a size, may be more than 65536",
    );
    let array = join([
        &map(1, ARRAY),
        &[mov(2, 8), mov(3, 0), helper(RESERVE)],
        &end(),
    ]);
    rejected(array, "array is no queue of events");
}

/// Run both ways on maps of their own; they end the same. Return the result and the interpreter's maps.
fn both(slots: &[Raw], fuel: u32) -> (Option<u64>, [Arc<Maps>; 2]) {
    let verified = verify(slots).expect("harmless");
    let maps = [(); 2].map(|()| Arc::new(Maps::anonymous(verified.program().maps()).unwrap()));
    let ran = interpreter::run(&verified, &maps[0], &[b"", b""], fuel);
    assert!(
        matches!(ran.result, Ok(_) | Err(Fault::OutOfFuel)),
        "{ran:?}"
    );
    let compiled = Compiled::new(&verified, Arc::clone(&maps[1]), fuel).unwrap();
    let found = compiled.run([b"", b""]);
    assert_eq!(found, ran.result.map_err(|_| OutOfFuel));
    (found.ok(), maps)
}

#[test]
fn a_run_without_fuel_leaves_nothing_that_readers_wait_for() {
    let endless = join([&reserved(), &[store_imm(8, 6, 0, 7), jump(-2)]]);
    let (result, maps) = both(&endless, fuel::DEFAULT);
    assert_eq!(result, None);
    for maps in maps {
        let queue = maps.by_name("events").unwrap();
        queue.send(b"later").unwrap();
        assert_eq!(queue.receive(), Some(b"later".to_vec()));
    }
}

#[test]
fn what_is_handed_over_is_read_and_what_is_taken_back_is_not() {
    let fill = [store_imm(8, 6, 0, 1), store_imm(8, 6, 8, 2)];
    let slots = join([
        &reserved(),
        &fill,
        &finish(6, DISCARD),
        &reserved(),
        &fill,
        &finish(6, SUBMIT),
        &[mov(0, 5), exit()],
    ]);
    let (result, maps) = both(&slots, fuel::DEFAULT);
    assert_eq!(result, Some(5));
    let expected: Vec<u8> = [1u64, 2].iter().flat_map(|n| n.to_le_bytes()).collect();
    for maps in maps {
        let queue = maps.by_name("events").unwrap();
        assert_eq!(queue.receive(), Some(expected.clone()));
        assert_eq!(queue.receive(), None);
    }
}

#[test]
fn one_register_says_of_all_whether_anything_is_reserved() {
    // r7 is a copy from before the comparison; on the other path nothing is reserved.
    let slots = join([
        &asked(16),
        &[copy(7, 0), branch(1, 0, 0, 4), store_imm(8, 7, 8, 1)],
        &finish(7, SUBMIT),
        &end(),
    ]);
    assert_eq!(both(&slots, fuel::DEFAULT).0, Some(0));
    // More than the queue has is null.
    let slots = join([
        &asked(8192),
        &[branch(5, 0, 0, 2), mov(0, 3), exit()],
        &finish(0, DISCARD),
        &end(),
    ]);
    assert_eq!(both(&slots, fuel::DEFAULT).0, Some(3));
}
