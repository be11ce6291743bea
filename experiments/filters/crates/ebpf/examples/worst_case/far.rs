//! Runs that touch places all over a map of 256 MiB, others in each run.

use filter_ebpf::insn::Raw;
use filter_ebpf::maps::{Maps, Update};
use filter_ebpf::program::{MapKind, MapSpec};

use super::common::*;
use super::{endless, show};

/// Entries of each map, a power of two, and what makes 256 MiB of them.
const ENTRIES: u32 = 1 << 22;
const VALUE: u32 = 48;

/// Bits of a random number that are an entry's; one more is a key that half the time is none.
const KNOWN: i32 = ENTRIES as i32 - 1;
const HALF: i32 = 2 * ENTRIES as i32 - 1;

fn spec(kind: MapKind, value_size: u32) -> Vec<MapSpec> {
    let key_size = if kind.is_hash() { 8 } else { 4 };
    vec![MapSpec {
        name: "map".to_owned(),
        kind,
        key_size,
        value_size,
        max_entries: ENTRIES,
        read_only: false,
        initial: Vec::new(),
        choices: Vec::new(),
    }]
}

/// Every key is there.
fn filled(maps: &Maps) {
    let map = &maps.all()[0];
    let value = vec![0; map.spec().value_size as usize];
    for key in 0..u64::from(ENTRIES) {
        // One may find its chain full.
        let _ = map.update(&key.to_le_bytes(), &value, Update::Any);
    }
}

/// Before the loop: r6 is a number that differs from run to run, and there is a value to write.
fn start() -> Vec<Raw> {
    let window = [load(8, 8, 1, 0), load(8, 9, 1, 8), copy(3, 8), add(3, 8)];
    let given = [
        branch_register(11, 3, 9, 2),
        mov(0, 0),
        exit(),
        load(8, 6, 8, 0),
        mov(7, 0),
    ];
    let value = (1..=8).map(|slot| store_imm(8, 10, -8 - 8 * slot, 0));
    [&window[..], &given, &value.collect::<Vec<_>>()].concat()
}

/// In the loop: the next random number, and `mask` of its bits as the key at r10 - 8.
fn next(mask: i32) -> Vec<Raw> {
    vec![
        raw(0x27, 6, 0, 0, 1_664_525),
        add(6, 1_013_904_223),
        copy(2, 6),
        raw(0x77, 2, 0, 0, 20),
        raw(0x57, 2, 0, 0, mask),
        store(8, 10, -8, 2),
        copy(2, 10),
        add(2, -8),
    ]
}

fn repeated(mask: i32, rest: &[Raw]) -> Vec<Raw> {
    endless(&start(), &[&next(mask)[..], &map(1, 0), rest].concat())
}

/// Find values and touch each; the next key depends on what is in r7 then, so that no two are waited for at once.
fn touched(touch: Raw) -> Vec<Raw> {
    repeated(
        KNOWN,
        &[helper(1), branch(1, 0, 0, 2), touch, raw(0x0f, 6, 7, 0, 0)],
    )
}

fn updates(mask: i32) -> Vec<Raw> {
    repeated(mask, &[copy(3, 10), add(3, -72), mov(4, 0), helper(2)])
}

pub fn show_all() {
    let (array, hash) = (MapKind::Array, MapKind::Hash);
    let wide = VALUE + 16;
    let reads = touched(load(8, 7, 0, 8));
    show("loads of a large array", &reads, spec(array, wide), |_| {});
    let sums = touched(atomic(8, 0, 8, 7, 1));
    show("sums in a large array", &sums, spec(array, wide), |_| {});
    let found = repeated(KNOWN, &[helper(1)]);
    show("keys in a large hash", &found, spec(hash, VALUE), filled);
    show("values in a large hash", &reads, spec(hash, VALUE), filled);
    let missed = repeated(HALF, &[helper(1)]);
    show("keys half not there", &missed, spec(hash, VALUE), filled);
    let deleted = repeated(KNOWN, &[helper(3)]);
    show(
        "deletions in a large hash",
        &deleted,
        spec(hash, VALUE),
        filled,
    );
    show(
        "updates of a large hash",
        &updates(KNOWN),
        spec(hash, VALUE),
        filled,
    );
    show(
        "insertions in a large hash",
        &updates(KNOWN),
        spec(hash, VALUE),
        |_| {},
    );
    for (name, kind) in [
        ("evictions from a large hash", MapKind::LruHash),
        ("evictions with copies", MapKind::LruPerCpuHash),
    ] {
        show(name, &updates(i32::MAX), spec(kind, VALUE), filled);
    }
}
