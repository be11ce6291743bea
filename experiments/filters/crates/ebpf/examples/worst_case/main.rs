//! Time of runs that use up their fuel, each by another instruction or helper, in maps of a few kilobytes and of
//! 256 MiB.
//!
//! `cargo run --release -p filter-ebpf --example worst_case`. Printed are the least time and the median of many runs
//! with the default fuel, in microseconds: [`filter_ebpf::fuel`] promises a millisecond at most.

mod far;

#[path = "../../tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::Instant;

use common::*;
use filter_ebpf::compile::Compiled;
use filter_ebpf::fuel;
use filter_ebpf::insn::Raw;
use filter_ebpf::maps::Maps;
use filter_ebpf::program::MapSpec;

const RUNS: u64 = 200;
const NOT_EQUAL: u8 = 5;

/// Repeat `body` without end, after `start`.
fn endless(start: &[Raw], body: &[Raw]) -> Vec<Raw> {
    let back = jump(-1 - body.len() as i16);
    [start, body, &[back, mov(0, 0), exit()]].concat()
}

/// Repeat an instruction on r0, whose result says whether to go on, so that no compiler leaves it out.
fn computed(start: &[Raw], one: Raw) -> Vec<Raw> {
    let body = vec![one; 50];
    let back = branch(NOT_EQUAL, 0, i32::MAX, -1 - body.len() as i16);
    [start, &body, &[back, mov(0, 0), exit()]].concat()
}

/// Run a program again and again, each time with another number in its window's first bytes, and print how long
/// it took.
fn show(name: &str, slots: &[Raw], specs: Vec<MapSpec>, fill: impl FnOnce(&Maps)) {
    let verified = verify_with(slots, specs).expect("harmless but for its length");
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).expect("memory"));
    fill(&maps);
    let compiled = Compiled::new(&verified, maps, fuel::DEFAULT).expect("within the fuel");
    let mut window = [b'x'; 4096];
    let runs = (0..RUNS).map(|run| {
        window[..8].copy_from_slice(&run.to_le_bytes());
        let begun = Instant::now();
        assert!(compiled.run([&window, b""]).is_err(), "it ended");
        begun.elapsed().as_nanos() as f64 / 1_000.0
    });
    let mut times: Vec<f64> = runs.collect();
    times.sort_by(f64::total_cmp);
    println!(
        "{name:28} {:8.1} us {:8.1} us",
        times[0],
        times[times.len() / 2]
    );
}

fn main() {
    println!("{:28} {:>11} {:>11}", "", "least", "median");
    let numbers = [
        mov(0, 1),
        mov(2, 3),
        store_imm(8, 10, -8, 1),
        store_imm(8, 10, -16, 2),
        store_imm(4, 10, -24, 1),
    ];
    let key = |target: i32, number: i32| {
        let arguments = [copy(2, 10), add(2, -16), copy(3, 10), add(3, -8), mov(4, 0)];
        [&map(1, target)[..], &arguments, &[helper(number)]].concat()
    };
    let event = |bytes: i32| {
        let arguments = [copy(2, 8), mov(3, bytes), mov(4, 0), helper(130)];
        [&map(1, EVENTS)[..], &arguments].concat()
    };
    let window = [
        load(8, 8, 1, 0),
        load(8, 9, 1, 8),
        copy(3, 8),
        add(3, 4000),
        branch_register(11, 3, 9, 2),
        mov(0, 0),
        exit(),
    ];
    // r2 is a byte of the window: a constant would be computed with in advance.
    let unknown = [&window[..], &[load(1, 2, 8, 0), mov(0, 1)]].concat();
    let array = [&map(1, ARRAY)[..], &[copy(2, 10), add(2, -24), helper(1)]].concat();
    let compare = [copy(1, 8), copy(2, 8), mov(3, 4000), helper(1 << 24)];
    let cases = [
        ("sums", computed(&unknown, add_register(0, 2))),
        ("products", computed(&unknown, raw(0x2f, 0, 2, 0, 0))),
        ("quotients", computed(&unknown, raw(0x3f, 0, 2, 0, 0))),
        (
            "signed remainders",
            computed(&unknown, raw(0x9f, 0, 2, 1, 0)),
        ),
        (
            "atomic sums",
            endless(&numbers, &[atomic(8, 10, -8, 2, 1); 50]),
        ),
        ("an empty loop", endless(&numbers, &[])),
        ("lookups in an array", endless(&numbers, &array)),
        ("lookups in a hash", endless(&numbers, &key(HASH, 1))),
        ("updates of a hash", endless(&numbers, &key(HASH, 2))),
        ("deletions", endless(&numbers, &key(HASH, 3))),
        ("short events", endless(&window, &event(1))),
        ("long events", endless(&window, &event(4000))),
        ("comparisons", endless(&window, &compare)),
        ("the clock", endless(&numbers, &[helper(5)])),
        ("random numbers", endless(&numbers, &[helper(7)])),
        ("the processor", endless(&numbers, &[helper(8)])),
    ];
    for (name, slots) in cases {
        show(name, &slots, maps(), |_| {});
    }
    far::show_all();
}
