//! Compiled code does what the checked interpreter does, for many programs that the verifier accepts.

mod common;

use common::agree::check;
use common::generate::{Choices, program};
use common::random::Random;
use common::*;
use filter_ebpf::compile::Compiled;
use filter_ebpf::fuel;
use filter_ebpf::insn::{Op, Raw};
use filter_ebpf::maps::{Maps, Update};
use filter_ebpf::verifier::Verified;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A number from the environment, for longer runs than the usual ones.
fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// What a program contains of what is counted.
fn contents(verified: &Verified) -> Vec<&'static str> {
    let has = |wanted: &dyn Fn(&Op) -> bool| {
        let ops = verified.program().ops().iter().enumerate();
        ops.filter(|(at, _)| verified.reaches(*at))
            .any(|(_, op)| wanted(op))
    };
    let calls = |numbers: &'static [u32]| move |op: &Op| matches!(op, Op::Helper { number } if numbers.contains(number));
    let map = |wanted: &'static [i32]| move |op: &Op| matches!(op, Op::LoadMap { map, .. } if wanted.contains(&(*map as i32)));
    let found = [
        ("functions", has(&|op| matches!(op, Op::Call { .. }))),
        ("hashes and arrays", has(&map(&[HASH, ARRAY]))),
        (
            "maps per CPU",
            has(&map(&[PER_CPU, PER_CPU_HASH, LRU_PER_CPU])),
        ),
        ("hashes that evict", has(&map(&[LRU, LRU_PER_CPU]))),
        ("maps of maps", has(&map(&[OUTER, OUTER_HASH]))),
        ("reserved records", has(&calls(&[131]))),
        ("tail calls", has(&calls(&[12]))),
        ("bpf_loop", has(&calls(&[181]))),
    ];
    found
        .into_iter()
        .filter_map(|(name, there)| there.then_some(name))
        .collect()
}

#[test]
fn random_programs_run_the_same_both_ways() {
    let mut random = Random(setting("FILTER_EBPF_SEED", 6));
    let rounds = setting("FILTER_EBPF_ROUNDS", 600);
    let (mut accepted, mut finished) = (0, 0);
    let mut parts = BTreeMap::new();
    let mut reasons = BTreeMap::new();
    for round in 0..rounds {
        let choices = random.bytes(200);
        let made = program(&mut Choices(&choices));
        let window = random.bytes(300);
        match made.verify() {
            Ok(verified) => {
                accepted += 1;
                for part in contents(&verified) {
                    *parts.entry(part).or_insert(0) += 1;
                }
                let result = std::panic::catch_unwind(|| check(&verified, [&window, b""]));
                let result = result.unwrap_or_else(|_| panic!("round {round}: {:#?}", made.slots));
                finished += u64::from(result.is_some());
            }
            Err(reason) => {
                // Without the slot.
                let reason = reason.split_once(": ").map_or("", |(_, reason)| reason);
                *reasons.entry(reason.to_owned()).or_insert(0) += 1;
            }
        }
    }
    println!(
        "{rounds} programs, {accepted} accepted, {finished} came to an end; with {parts:#?}; refused: {reasons:#?}"
    );
    assert!(
        accepted > rounds / 4,
        "only {accepted} of {rounds} programs were accepted: {reasons:#?}"
    );
    assert!(
        finished > rounds / 5,
        "only {finished} of {rounds} programs came to an end"
    );
    assert_eq!(parts.len(), 8, "only {parts:?}");
    let recursion = "the function calls itself, directly or through others; use a loop";
    assert!(reasons.contains_key(recursion), "{reasons:#?}");
}

#[test]
fn random_programs_in_many_threads_end_and_leave_their_maps_whole() {
    let mut random = Random(setting("FILTER_EBPF_SEED", 6) + 1);
    for round in 0..setting("FILTER_EBPF_ROUNDS", 600) / 6 {
        let choices = random.bytes(150);
        let Ok(verified) = program(&mut Choices(&choices)).verify() else {
            continue;
        };
        let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
        let Ok(compiled) = Compiled::new(&verified, Arc::clone(&maps), fuel::DEFAULT) else {
            continue;
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _ = compiled.run([b"/a/b/c", b"x"]);
                    }
                });
            }
        });
        // Every entry of a hash can be used, and none twice.
        for name in ["hash", "lru", "per_cpu_hash", "lru_per_cpu"] {
            let hash = maps.by_name(name).unwrap();
            let mut known = 0;
            for key in 0..256u64 {
                known += u32::from(hash.delete(&key.to_le_bytes()).is_ok());
            }
            assert!(known <= 4, "round {round}: {known} entries");
            let fresh = (1000..1004u64).filter(|key| {
                let added = hash.update(&key.to_le_bytes(), &[0; 8], Update::New);
                added.is_ok()
            });
            assert!(fresh.count() as u32 >= known, "round {round}");
        }
        // No record is left that readers wait for.
        let queue = maps.by_name("events").unwrap();
        while queue.receive().is_some() {}
        queue.send(b"last").unwrap();
        assert_eq!(queue.receive(), Some(b"last".to_vec()), "round {round}");
    }
}

/// Runs the program both ways on windows of 5 and 2 bytes.
fn result(slots: &[Raw]) -> Option<u64> {
    let verified = verify(slots).expect("harmless");
    check(&verified, [b"abcde", b"xy"])
}

/// r0 becomes the bytes of a window, whose fields are read from the context in a register.
fn length(context: u8, window: i16) -> [Raw; 4] {
    let subtract = raw(0x1f, 0, 3, 0, 0);
    [
        load(8, 0, context, window * 16 + 8),
        load(8, 3, context, window * 16),
        subtract,
        exit(),
    ]
}

#[test]
fn the_context_is_read_wherever_it_was_passed() {
    assert_eq!(result(&length(1, 0)), Some(5));
    assert_eq!(result(&length(1, 1)), Some(2));
    // In a function, and then in the entry, which has kept the context's address.
    let called = [copy(6, 1), call(1), exit()];
    assert_eq!(result(&[&called[..], &length(1, 1)].concat()), Some(2));
    let both = [copy(6, 1), call(4)];
    let slots = [&both[..], &length(6, 0), &length(1, 1)].concat();
    assert_eq!(result(&slots), Some(5));
    // It is not null, and the same as itself.
    let slots = [
        mov(0, 1),
        branch(1, 1, 0, 2),
        branch_register(5, 1, 1, 1),
        mov(0, 2),
        exit(),
    ];
    assert_eq!(result(&slots), Some(2));
}

#[test]
fn two_shifts_extend_a_number_and_one_does_not() {
    // 1 if r0 is the number after the shifts, otherwise 2: the verifier knows which.
    let told = |number| {
        [
            branch(1, 0, number, 2),
            mov(0, 2),
            exit(),
            mov(0, 1),
            exit(),
        ]
    };
    let (left, signed, unsigned) = (0x67, 0xc7, 0x77);
    let shift = |opcode| raw(opcode, 0, 0, 0, 32);
    let half = raw(0xb4, 0, 0, 0, -1);
    let both = |second| [half, shift(left), shift(second)];
    assert_eq!(result(&[&both(signed)[..], &told(-1)].concat()), Some(1));
    assert_eq!(result(&[&both(unsigned)[..], &told(-1)].concat()), Some(2));
    // The first is jumped over: not all windows have as many bytes as this one.
    let jumped = [
        load(8, 2, 1, 0),
        load(8, 3, 1, 8),
        mov(0, 5),
        raw(0x1f, 3, 2, 0, 0),
        branch(1, 3, 5, 1),
        shift(left),
        shift(unsigned),
    ];
    assert_eq!(result(&[&jumped[..], &told(5)].concat()), Some(2));
}

#[test]
fn the_stack_is_seen_by_whoever_has_its_address() {
    // A function writes half of what its caller has written and reads back.
    let slots = [
        store_imm(8, 10, -8, -1),
        copy(1, 10),
        add(1, -8),
        call(2),
        load(8, 0, 10, -8),
        exit(),
        store_imm(4, 1, 4, 7),
        mov(0, 0),
        exit(),
    ];
    assert_eq!(result(&slots), Some(7 << 32 | 0xffff_ffff));
    // Through a pointer that was stored and loaded again, and at an index.
    let slots = [
        store_imm(8, 10, -8, 1),
        copy(2, 10),
        store(8, 10, -16, 2),
        load(8, 3, 10, -16),
        load(8, 4, 3, -8),
        add(4, 1),
        store(8, 3, -8, 4),
        load(8, 0, 10, -8),
        exit(),
    ];
    assert_eq!(result(&slots), Some(2));
    let slots = [
        store_imm(8, 10, -8, 0x0102),
        store_imm(8, 10, -16, 0x0304),
        load(8, 2, 1, 0),
        load(8, 3, 1, 8),
        copy(4, 2),
        add(4, 1),
        branch_register(2, 4, 3, 6),
        load(1, 2, 2, 0),
        raw(0x57, 2, 0, 0, 8),
        copy(5, 10),
        raw(0x1f, 5, 2, 0, 0),
        load(8, 0, 5, -8),
        exit(),
        mov(0, 0),
        exit(),
    ];
    // 'a' is 0x61, whose bit 8 is not set.
    assert_eq!(result(&slots), Some(0x0102));
    // Two sizes from one place.
    let slots = [
        store_imm(8, 10, -8, -1),
        store_imm(2, 10, -8, 5),
        load(8, 0, 10, -8),
        exit(),
    ];
    assert_eq!(result(&slots), Some(0xffff_ffff_ffff_0005));
    // A narrow piece keeps its width, and its sign when that is asked for.
    let signed = raw(0x91, 0, 10, -1, 0);
    assert_eq!(
        result(&[store_imm(1, 10, -1, -2), signed, exit()]),
        Some(-2i64 as u64)
    );
    let slots = [store_imm(1, 10, -1, -2), load(1, 0, 10, -1), exit()];
    assert_eq!(result(&slots), Some(0xfe));
}
