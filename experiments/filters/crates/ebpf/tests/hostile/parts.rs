//! Programs that have functions called, go on with other programs, and use maps of maps.

use std::sync::Arc;

use filter_ebpf::compile::Compiled;
use filter_ebpf::fuel;
use filter_ebpf::insn::Raw;
use filter_ebpf::interpreter;
use filter_ebpf::maps::{Maps, Update};
use filter_ebpf::program::{MapSpec, Program};

use super::common::*;
use super::{join, rejected, value};

const LOOP: i32 = 181;
const TAIL_CALL: i32 = 12;
const UPDATE: i32 = 2;

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
