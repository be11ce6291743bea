//! Programs that would take long: every run keeps within its fuel, counted instruction by instruction.

use std::sync::Arc;

use filter_ebpf::compile::{CompileError, Compiled};
use filter_ebpf::fuel;
use filter_ebpf::insn::Raw;
use filter_ebpf::interpreter::{self, Fault, Ran};
use filter_ebpf::maps::Maps;

use super::common::*;
use super::join;

const BELOW: u8 = 10;
const NOT_ABOVE: u8 = 11;

/// Run both ways with the usual fuel; the weight of all that was executed is within it.
fn bounded(slots: &[Raw]) -> Ran {
    let verified = verify(slots).expect("harmless but for its length");
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
    let windows: [&[u8]; 2] = [&[7; 4096], b""];
    let ran = interpreter::run(&verified, &maps, &windows, fuel::DEFAULT);
    assert!(
        matches!(ran.result, Ok(_) | Err(Fault::OutOfFuel)),
        "{ran:?}"
    );
    assert!(ran.spent <= u64::from(fuel::DEFAULT), "{ran:?}");
    let compiled = Compiled::new(&verified, maps, fuel::DEFAULT).unwrap();
    assert_eq!(compiled.run(windows).ok(), ran.result.ok());
    ran
}

/// r6 counts to `turns`.
fn counting(turns: i32) -> [Raw; 3] {
    [mov(6, 0), add(6, 1), branch(BELOW, 6, turns, -2)]
}

/// r7 counts to `turns` around `body`.
fn around(body: &[Raw], turns: i32) -> Vec<Raw> {
    let again = branch(BELOW, 7, turns, -2 - body.len() as i16);
    join([&[mov(7, 0)], body, &[add(7, 1), again, mov(0, 1), exit()]])
}

#[test]
fn many_loops_that_end_soon_in_one_that_does_not() {
    let loops = counting(8000).repeat(200);
    let ran = bounded(&around(&loops, 10_000));
    assert_eq!(ran.result, Err(Fault::OutOfFuel));
    // A few of them are within the fuel.
    assert_eq!(bounded(&around(&counting(100), 100)).result, Ok(1));
}

#[test]
fn helpers_in_a_loop_that_ends_soon() {
    let event = join([
        &map(1, EVENTS),
        &[copy(2, 10), add(2, -8), mov(3, 8), mov(4, 0), helper(130)],
    ]);
    let start = [store_imm(8, 10, -8, 0)];
    let ran = bounded(&join([&start, &around(&event, 8000)]));
    assert_eq!(ran.result, Err(Fault::OutOfFuel));
    assert_eq!(bounded(&join([&start, &around(&event, 100)])).result, Ok(1));
    // Few calls with many bytes cost as much.
    let window = join([
        &[load(8, 8, 1, 0), load(8, 2, 1, 8), copy(3, 8), add(3, 4096)],
        &[branch_register(NOT_ABOVE, 3, 2, 2), mov(0, 0), exit()],
    ]);
    let send = join([
        &map(1, EVENTS),
        &[copy(2, 8), mov(3, 4096), mov(4, 0), helper(130)],
    ]);
    let ran = bounded(&join([&window, &around(&send, 200)]));
    assert_eq!(ran.result, Err(Fault::OutOfFuel));
}

#[test]
fn functions_that_call_functions() {
    // Each level calls the next twice, in a loop of its own; the last one counts.
    let levels = 4;
    let mut slots = Vec::new();
    for level in 0..levels {
        let last = level + 1 == levels;
        let body = if last {
            counting(200).to_vec()
        } else {
            // The next function begins after this one: its body, three slots and the exit.
            (0..2).map(|n| call(5 - n)).collect()
        };
        slots.extend(around(&body, 3));
    }
    bounded(&slots);
}

#[test]
fn a_program_that_costs_more_than_its_fuel_is_refused() {
    let slots = join([&vec![mov(0, 0); 1000], &[exit()]]);
    let verified = verify(&slots).unwrap();
    assert_eq!(verified.cost(), 1001);
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
    assert!(Compiled::new(&verified, Arc::clone(&maps), 1001).is_ok());
    let refused = Compiled::new(&verified, maps, 1000)
        .err()
        .expect("a refusal");
    assert!(matches!(
        refused,
        CompileError::Fuel {
            needed: 1001,
            allowed: 1000
        }
    ));
    assert!(
        refused
            .to_string()
            .contains("may take 1001 units of fuel and is allowed 1000;")
    );
}

#[test]
fn functions_that_helpers_call_without_end() {
    // 8 million turns, each with a loop that ends soon and as many turns of another function.
    let called = |body: &[Raw]| {
        let start = [mov(1, 1 << 23), mov(3, 0), mov(4, 0), helper(181)];
        let rest = join([&[mov(0, 0), exit()], body, &[mov(0, 0), exit()]]);
        join([&function(2, 7), &start, &rest])
    };
    let ran = bounded(&called(&[]));
    assert_eq!(ran.result, Err(Fault::OutOfFuel));
    bounded(&called(&counting(8000)));
    bounded(&called(&called(&counting(100))[..8]));
    // The innermost of eight.
    let mut slots = Vec::new();
    for _ in 0..7 {
        slots.extend(&called(&[])[..8]);
    }
    slots.extend([mov(0, 0), exit()]);
    let ran = bounded(&slots);
    assert_eq!(ran.result, Err(Fault::OutOfFuel));
}

#[test]
fn programs_that_go_on_with_expensive_ones() {
    // Each of 33 costs a loop of its own.
    let first = join([
        &map(2, PROGRAMS),
        &[mov(3, 0), helper(12), mov(0, 0), exit()],
    ]);
    let again = join([
        &[copy(8, 1)],
        &counting(8000),
        &[copy(1, 8)],
        &map(2, PROGRAMS),
        &[mov(3, 0), helper(12), mov(0, 1), exit()],
    ]);
    let verified = verify_with(&join([&first, &again]), maps_with(&[first.len()])).unwrap();
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
    for (fuel, expected) in [(fuel::DEFAULT, None), (2_000_000, Some(1))] {
        let ran = interpreter::run(&verified, &maps, &[b"", b""], fuel);
        assert!(ran.spent <= u64::from(fuel), "{ran:?}");
        assert_eq!(ran.result.ok(), expected);
        let compiled = Compiled::new(&verified, Arc::clone(&maps), fuel).unwrap();
        assert_eq!(compiled.run([b"", b""]).ok(), expected);
    }
}
