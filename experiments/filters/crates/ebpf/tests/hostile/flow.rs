//! Jumps, instructions, calls and loops that lead nowhere.

use super::common::*;
use super::{join, rejected};
use filter_ebpf::compile::Compiled;
use filter_ebpf::insn::Raw;
use filter_ebpf::interpreter::{self, Fault};
use filter_ebpf::maps::Maps;
use std::sync::Arc;

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
fn calls_without_end() {
    rejected([call(1), exit(), call(-1), exit()], "calls itself");
    rejected([call(-1), exit()], "calls itself");
    let mut deep: Vec<Raw> = (0..8).flat_map(|_| [call(1), exit()]).collect();
    deep.extend([mov(0, 0), exit()]);
    rejected(deep.clone(), "deeper than 8");
    assert!(verify(&deep[2..]).is_ok());
}

#[test]
fn a_function_that_calls_itself_a_bounded_number_of_times() {
    // The entry, with 0 the second time; the same in a function; and through another one.
    let itself = |distance| {
        [
            branch(5, 1, 0, 2),
            mov(0, 7),
            exit(),
            mov(1, 0),
            call(distance),
            exit(),
        ]
    };
    rejected(itself(-5), "calls itself");
    let start = [mov(1, 1), call(1), exit()];
    rejected(join([&start, &itself(-5)]), "calls itself");
    let other = [call(-7), exit()];
    rejected(join([&itself(1), &other]), "calls itself");
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
        let compiled = Compiled::new(&verified, Arc::clone(&maps), 10_000).unwrap();
        assert!(compiled.run([b"/", b""]).is_err());
        let ran = interpreter::run(&verified, &maps, &[b"/", b""], 10_000);
        assert_eq!(ran.result, Err(Fault::OutOfFuel));
    }
}

#[test]
fn a_program_of_too_many_branches_to_verify() {
    let branches = |count| join([&[mov(0, 0)], &vec![branch(1, 0, 7, 0); count], &[exit()]]);
    rejected(
        branches(50_000),
        "too much memory to verify; make it of fewer branches",
    );
    assert!(verify(&branches(2_000)).is_ok());
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
