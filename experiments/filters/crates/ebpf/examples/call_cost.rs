//! Nanoseconds of a call: the compiled filter beside the same loop over bytes in native code.
//!
//! `cargo run --release -p filter-ebpf --example call_cost -- OBJECT`, with tests/programs/prefix.bpf.c
//! compiled. A first look on whatever machine this is; the experiment measures properly.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use filter_ebpf::compile::Compiled;
use filter_ebpf::context::ContextLayout;
use filter_ebpf::elf;
use filter_ebpf::maps::{Maps, Update};
use filter_ebpf::verifier::Verified;

const CALLS: u32 = 1_000_000;
const ROUNDS: usize = 15;

#[inline(never)]
fn native(path: &[u8], prefix: &[u8], counters: &[AtomicU64; 16]) -> u64 {
    let mut index = 0;
    while index < prefix.len() {
        // Hidden, so that the loop stays one over bytes.
        if black_box(index) >= path.len() || path[index] != prefix[index] {
            counters[8].fetch_add(1, Ordering::Relaxed);
            return 0;
        }
        index += 1;
    }
    counters[0].fetch_add(1, Ordering::Relaxed);
    1
}

fn best(mut call: impl FnMut() -> u64) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..CALLS {
            black_box(call());
        }
        best = best.min(begun.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    best
}

fn main() {
    let path = std::env::args()
        .nth(1)
        .expect("the object file of the program");
    let object = std::fs::read(&path).expect("the object file can be read");
    let program = elf::load(&object, "filter").expect("a program in section filter");
    let begun = Instant::now();
    let verified = Verified::new(program, ContextLayout::windows(1)).expect("accepted");
    let verifying = begun.elapsed();
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).expect("memory"));
    let begun = Instant::now();
    let compiled = Compiled::new(&verified, Arc::clone(&maps)).expect("compiles");
    println!(
        "verified in {verifying:?}, compiled in {:?}",
        begun.elapsed()
    );
    let prefix = b"/aaaabbbbccccddd";
    let mut value = (prefix.len() as u32).to_le_bytes().to_vec();
    value.extend(prefix);
    value.resize(4096, 0);
    let map = maps.by_name("prefixes").expect("declared");
    map.update(&[0; 4], &value, Update::Any).expect("set");
    let counters = [const { AtomicU64::new(0) }; 16];
    for (name, path) in [
        ("accepted", &b"/aaaabbbbccccddd/index.html"[..]),
        ("rejected at byte 2", b"/baaabbbbccccddd/index.html"),
    ] {
        let slow = best(|| native(black_box(path), black_box(prefix), &counters));
        let fast = best(|| compiled.run([black_box(path)], 100_000).unwrap_or(2));
        println!("{name}: native byte loop {slow:.1} ns, ebpf {fast:.1} ns");
    }
}
