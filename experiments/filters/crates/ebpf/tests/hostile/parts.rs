//! Programs that go on with other programs, and use maps of maps.

use std::sync::Arc;

use filter_ebpf::compile::Compiled;
use filter_ebpf::fuel;
use filter_ebpf::insn::Raw;
use filter_ebpf::interpreter;
use filter_ebpf::maps::{Maps, Update};
use filter_ebpf::program::{MapSpec, Program};

use super::common::*;
use super::{join, rejected, value};

const TAIL_CALL: i32 = 12;
const UPDATE: i32 = 2;

fn end() -> [Raw; 2] {
    [mov(0, 0), exit()]
}

/// Run both ways; the results are the same.
fn result(slots: &[Raw], maps: Vec<MapSpec>) -> Option<u64> {
    let verified = verify_with(slots, maps).expect("harmless");
    agree::check(&verified, [b"abc", b""])
}

/// Go on with a program by its index in a map.
fn tail(target: i32, index: i32) -> Vec<Raw> {
    join([&map(2, target), &[mov(3, index), helper(TAIL_CALL)]])
}

#[test]
fn programs_go_on_with_what_is_none() {
    let then = |slots: &[Raw]| join([slots, &end()]);
    rejected(then(&tail(ARRAY, 0)), "array is no map of programs");
    rejected(then(&tail(OUTER, 0)), "outer is no map of programs");
    rejected(
        then(&join([&[copy(1, 10)], &tail(PROGRAMS, 0)])),
        "r1 is not the context",
    );
    let index = join([&map(2, PROGRAMS), &[copy(3, 10), helper(TAIL_CALL)]]);
    rejected(then(&index), "r3 holds an address");
    // What was passed is gone when it comes back.
    rejected(
        join([&tail(PROGRAMS, 0), &[load(8, 0, 1, 0), exit()]]),
        "r1 holds nothing that may be used",
    );
    let reserve = join([
        &[copy(6, 1)],
        &map(1, EVENTS),
        &[mov(2, 8), mov(3, 0), helper(131), copy(1, 6)],
    ]);
    rejected(
        then(&join([&reserve, &tail(PROGRAMS, 0)])),
        "reserved is neither submitted nor discarded",
    );
    // Only helpers for it use such a map.
    let key = [store_imm(4, 10, -4, 0), copy(2, 10), add(2, -4)];
    let looked = join([&key, &map(1, PROGRAMS), &[helper(1)], &end()]);
    rejected(looked, "programs is a map of programs, only for tail calls");
    let value = [copy(3, 10), add(3, -4), mov(4, 0), helper(UPDATE)];
    let updated = join([&key, &map(1, PROGRAMS), &value, &end()]);
    rejected(
        updated,
        "programs is a map of programs, only for tail calls",
    );
    let read = join([&wide(2, 2, PROGRAMS, 0), &[load(4, 0, 2, 0), exit()]]);
    rejected(read, "programs has no value at byte 0");
}

#[test]
fn a_program_that_is_gone_on_with_is_verified() {
    let refused = |body: &[Raw], reason: &str| {
        let slots = join([&tail(PROGRAMS, 0), &end(), body]);
        let found = verify_with(&slots, maps_with(&[6])).unwrap_err();
        assert!(found.contains(reason), "{found}");
    };
    refused(&[load(8, 0, 10, -8), exit()], "not written on every path");
    refused(&[copy(0, 2), exit()], "r2 holds nothing that may be used");
    refused(&[exit()], "r0, the result, holds no number");
    refused(
        &[load(8, 2, 1, 0), load(1, 0, 2, 0), exit()],
        "outside the window",
    );
    // Even if no path leads to the call.
    let slots = join([&end(), &tail(PROGRAMS, 0), &end(), &[exit()]]);
    let found = verify_with(&slots, maps_with(&[8])).unwrap_err();
    assert!(found.contains("r0, the result"), "{found}");
    // It is where the map says, and a program.
    let declared =
        |starts: &[usize]| verify_with(&join([&tail(PROGRAMS, 0), &end()]), maps_with(starts));
    assert!(
        declared(&[60])
            .unwrap_err()
            .contains("names a program that is not there")
    );
    assert!(declared(&[1]).is_err());
}

#[test]
fn a_map_that_names_no_program_leaves_nothing_in_the_result() {
    let slots = join([&[copy(0, 10)], &tail(PROGRAMS, 0), &[exit()]]);
    assert_eq!(result(&slots, maps()), Some(-2i64 as u64));
}

#[test]
fn a_program_goes_on_with_itself_without_end() {
    // Counts in the array, as often as it may; the last one goes on with nothing and returns the count.
    let count = [mov(2, 1), atomic(8, 6, 0, 2, 0), load(8, 7, 6, 0)];
    let slots = join([
        &[copy(9, 1)],
        &value(),
        &count,
        &[copy(1, 9)],
        &tail(PROGRAMS, 0),
        &[copy(0, 7), exit()],
    ]);
    assert_eq!(result(&slots, maps_with(&[0])), Some(34));
    // In functions, eight deep each time.
    let deep = 7;
    let mut slots = Vec::new();
    for _ in 1..deep {
        slots.extend([call(1), exit()]);
    }
    slots.extend(tail(PROGRAMS, 0));
    slots.extend([mov(0, 9), exit()]);
    assert_eq!(result(&slots, maps_with(&[0])), Some(9));
}

#[test]
fn what_another_program_returns_is_the_functions_result() {
    // The caller's r6 and stack stay as they are, whatever the other program does to its own.
    let slots = join([
        &[mov(6, 5), store_imm(8, 10, -8, 40), call(4)],
        &[
            load(8, 2, 10, -8),
            add_register(0, 2),
            add_register(0, 6),
            exit(),
        ],
        &tail(PROGRAMS, 0),
        &[mov(0, 1000), exit()],
        &[mov(6, 9), store_imm(8, 10, -8, 9), mov(0, 300), exit()],
    ]);
    assert_eq!(result(&slots, maps_with(&[13])), Some(345));
    // It may be any number: the function's own, an index that would do, says nothing.
    let before = [call(16), copy(7, 0)];
    let after = [add_register(6, 7), load(1, 0, 6, 0), mov(0, 0), exit()];
    let caller = join([&before, &value(), &after]);
    let own = [mov(0, 3), exit()];
    let slots = join([&caller, &tail(PROGRAMS, 0), &own, &[mov(0, 300), exit()]]);
    let other = caller.len() + 6;
    let found = verify_with(&slots, maps_with(&[other])).unwrap_err();
    assert!(found.contains("moves an address too far"), "{found}");
    // It may not return what is no number.
    let slots = join([
        &[call(1), exit()],
        &tail(PROGRAMS, 0),
        &[copy(0, 10), exit()],
        &end(),
    ]);
    let found = verify_with(&slots, maps_with(&[8])).unwrap_err();
    assert!(found.contains("r0, the result, holds no number"), "{found}");
}

/// r6 becomes a map that `outer` names, or the program ends.
fn inner(key: i32) -> Vec<Raw> {
    join([
        &[store_imm(4, 10, -4, key)],
        &map(1, OUTER),
        &[copy(2, 10), add(2, -4), helper(1)],
        &[branch(5, 0, 0, 2), mov(0, 77), exit(), copy(6, 0)],
    ])
}

/// Look up the key on the stack in the map in r1.
fn lookup() -> [Raw; 3] {
    [copy(2, 10), add(2, -4), helper(1)]
}

#[test]
fn a_map_that_is_named_is_used_as_memory() {
    let with = |body: &[Raw]| join([&inner(0), body, &end()]);
    rejected(with(&[load(8, 0, 6, 0)]), "reads a map itself");
    rejected(with(&[store_imm(8, 6, 0, 0)]), "writes a map itself");
    rejected(
        with(&[mov(2, 1), atomic(8, 6, 0, 2, 0)]),
        "writes a map itself",
    );
    rejected(with(&[add(6, 8)]), "moves the context, a map");
    rejected(with(&[raw(0x1f, 6, 6, 0, 0)]), "different regions");
    rejected(
        with(&[copy(0, 6), exit()]),
        "r0, the result, holds no number",
    );
    rejected(
        with(&join([&map(1, ARRAY), &[copy(2, 6), helper(1)]])),
        "no memory that a helper may read",
    );
    rejected(
        with(&join([
            &[copy(1, 6)],
            &[copy(2, 10), mov(3, 8), mov(4, 0), helper(130)],
        ])),
        "inner_a is no queue of events",
    );
    // Before it was compared with null; what is looked up in it may be null, too.
    let unchecked = join([
        &[store_imm(4, 10, -4, 0)],
        &map(1, OUTER),
        &lookup(),
        &[copy(1, 0)],
        &lookup(),
        &end(),
    ]);
    rejected(unchecked, "r1 may be null");
    let key = [store_imm(4, 10, -4, 9), copy(1, 6)];
    let value = join([&key, &lookup(), &[load(8, 0, 0, 0)]]);
    rejected(with(&value), "r0 may be null");
    let beyond = join([&key, &lookup(), &[branch(1, 0, 0, 1), load(8, 0, 0, 16)]]);
    rejected(with(&beyond), "may reach outside the map's value");
}

#[test]
fn a_map_of_maps_is_written() {
    for target in [OUTER, OUTER_HASH] {
        let key = [store_imm(4, 10, -4, 0), copy(2, 10), add(2, -4)];
        let value = [copy(3, 2), mov(4, 0), helper(UPDATE)];
        let updated = join([&key, &map(1, target), &value, &end()]);
        rejected(updated, "a map of maps, which is read-only");
    }
    let read = join([&wide(2, 2, OUTER, 0), &[load(4, 0, 2, 0), exit()]]);
    rejected(read, "outer has no value at byte 0");
}

#[test]
fn declarations_that_make_no_sense_are_refused() {
    let refused = |change: &dyn Fn(&mut Vec<MapSpec>), reason: &str| {
        let mut maps = maps();
        change(&mut maps);
        let found = Program::new(&end(), maps).unwrap_err().to_string();
        assert!(found.contains(reason), "{found:?}, expected {reason:?}");
    };
    let outer = OUTER as usize;
    refused(&|maps| maps[outer].choices.clear(), "among its choices");
    refused(
        &|maps| maps[outer].choices[1] = HASH as usize,
        "different kinds or sizes",
    );
    refused(
        &|maps| maps[outer].choices[0] = 99,
        "a map that is not there",
    );
    refused(
        &|maps| maps[outer].choices = vec![outer, outer],
        "name something themselves",
    );
    refused(
        &|maps| maps[outer].value_size = 8,
        "what it names has 4 bytes",
    );
    refused(&|maps| maps[outer].max_entries = 2, "more than max_entries");
    refused(&|maps| maps[0].choices = vec![0], "its values name nothing");
    refused(
        &|maps| maps[PER_CPU as usize].max_entries = 1 << 27,
        "more than 1 GiB",
    );
    refused(&|maps| maps[LRU as usize].key_size = 513, "1 to 512 bytes");
}

#[test]
fn who_writes_the_memory_names_what_is_not_there() {
    // A number of the map or the program that is none.
    let looked = join([&inner(0), &[mov(0, 5), exit()]]);
    let gone_on = join([&tail(PROGRAMS, 0), &[mov(0, 5), exit()], &end()]);
    for (slots, name, start, expected) in [(looked, "outer", 0, 77), (gone_on, "programs", 6, 5)] {
        let verified = verify_with(&slots, maps_with(&[start])).unwrap();
        let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
        let compiled = Compiled::new(&verified, Arc::clone(&maps), fuel::DEFAULT).unwrap();
        for number in [0, 3, 99, u32::MAX] {
            let map = maps.by_name(name).unwrap();
            let number = number.to_le_bytes();
            map.update(&[0; 4], &number, Update::Any).unwrap();
            assert_eq!(compiled.run([b"", b""]), Ok(expected), "{name}");
            let ran = interpreter::run(&verified, &maps, &[b"", b""], fuel::DEFAULT);
            assert_eq!(ran.result, Ok(expected), "{name}");
        }
    }
}
