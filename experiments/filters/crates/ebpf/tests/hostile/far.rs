//! Places of large maps, which take longer to reach than small ones: the fuel that they cost.

use std::sync::Arc;

use filter_ebpf::compile::Compiled;
use filter_ebpf::insn::Raw;
use filter_ebpf::interpreter::{self, Fault};
use filter_ebpf::maps::Maps;
use filter_ebpf::program::{MapKind, MapSpec};
use filter_ebpf::verifier::Verified;

use super::common::*;
use super::join;

const LOOKUP: i32 = 1;
const UPDATE: i32 = 2;
const DELETE: i32 = 3;
const GO_ON: i32 = 12;
const EVENT: i32 = 130;

/// Weights of a place by the size of the maps.
const LARGE: u64 = 64;
const HUGE: u64 = 128;

/// A map of about so many bytes.
fn sized(kind: MapKind, bytes: u32) -> MapSpec {
    let hash = kind.is_hash();
    let (key_size, value_size) = match kind {
        MapKind::Events => (0, 0),
        kind if kind.names() => (4, 4),
        _ if hash => (8, 48),
        _ => (4, 64),
    };
    MapSpec {
        name: format!("{kind:?}{bytes}"),
        kind,
        key_size,
        value_size,
        max_entries: if kind == MapKind::Events {
            bytes
        } else {
            bytes / 64
        },
        read_only: false,
        initial: Vec::new(),
        choices: Vec::new(),
    }
}

/// A call of a helper that takes a map, a key and a value, or a queue and a record.
fn using(map_number: i32, number: i32) -> Vec<Raw> {
    let first = (1..=8).map(|slot| store_imm(8, 10, -8 * slot, 0));
    let arguments = match number {
        EVENT => [copy(2, 10), add(2, -8), mov(3, 8), mov(4, 0)],
        _ => [copy(2, 10), add(2, -8), copy(3, 10), mov(4, 0)],
    };
    let value = [add(3, if number == EVENT { 0 } else { -64 })];
    let rest = [helper(number), mov(0, 0), exit()];
    let first: Vec<Raw> = first.collect();
    join([&first, &map(1, map_number), &arguments, &value, &rest])
}

/// Return the fuel that the program's only call of a helper costs.
fn cost(slots: &[Raw], specs: &[MapSpec]) -> u64 {
    let verified = verify_with(slots, specs.to_vec()).unwrap();
    let at = slots
        .iter()
        .position(|slot| (slot.opcode, slot.src) == (0x85, 0));
    verified.cost_helper(at.unwrap())
}

#[test]
fn a_helper_pays_for_each_far_place_that_it_touches() {
    let places = [
        (MapKind::Hash, LOOKUP, 3),
        (MapKind::Hash, UPDATE, 4),
        (MapKind::Hash, DELETE, 3),
        // The hand passes 32 entries of 64 bytes, at most on one page, and two more places are the chain's.
        (MapKind::LruHash, UPDATE, 7),
        (MapKind::LruHash, LOOKUP, 3),
        (MapKind::PerCpuHash, LOOKUP, 3),
        (MapKind::PerCpuArray, LOOKUP, 0),
        (MapKind::Array, UPDATE, 1),
        (MapKind::PerCpuArray, UPDATE, 1),
        (MapKind::Array, DELETE, 0),
        (MapKind::Events, EVENT, 2),
    ];
    for (kind, number, count) in places {
        let slots = using(0, number);
        let near = cost(&slots, &[sized(kind, 1 << 16)]);
        let large = cost(&slots, &[sized(kind, 1 << 21)]);
        let huge = cost(&slots, &[sized(kind, 1 << 24)]);
        let found = [large - near, huge - near];
        assert_eq!(found, [count * LARGE, count * HUGE], "{kind:?}, {number}");
    }
}

#[test]
fn what_a_hand_passes_on_pages_of_its_own_is_paid_for() {
    let wide = |entries| MapSpec {
        value_size: 4096,
        max_entries: entries,
        ..sized(MapKind::LruHash, 64)
    };
    let value = (1..=4).map(|slot| store_imm(8, 10, -8 * slot, 0));
    let value: Vec<Raw> = value.collect();
    // The value is the window's first 4096 bytes.
    let window = [
        load(8, 8, 1, 0),
        load(8, 2, 1, 8),
        copy(3, 8),
        add(3, 4096),
        branch_register(11, 3, 2, 2),
        mov(0, 0),
        exit(),
    ];
    let arguments = [
        copy(2, 10),
        add(2, -8),
        copy(3, 8),
        mov(4, 0),
        helper(UPDATE),
        exit(),
    ];
    let slots = join([&window, &value, &map(1, 0), &arguments]);
    // Key and value, one of which is the window's, may be far away, too.
    let paid = cost(&slots, &[wide(1 << 13)]) - cost(&slots, &[wide(8)]);
    assert_eq!(paid, (4 + 32 + 2) * HUGE + 2 * HUGE);
}

#[test]
fn a_small_map_beside_a_large_one_stays_near_and_many_small_ones_do_not() {
    let (near, far) = (
        sized(MapKind::Hash, 1 << 16),
        sized(MapKind::Array, 1 << 24),
    );
    let alone = cost(&using(0, LOOKUP), std::slice::from_ref(&near));
    assert_eq!(cost(&using(0, LOOKUP), &[near.clone(), far]), alone);
    let many = vec![near; 32];
    assert_eq!(cost(&using(31, LOOKUP), &many), alone + 3 * LARGE);
    let many = vec![sized(MapKind::Hash, 1 << 19); 64];
    assert_eq!(cost(&using(7, LOOKUP), &many), alone + 3 * HUGE);
}

#[test]
fn arguments_that_lie_in_large_maps_are_paid_for() {
    let compared = |what: &[Raw]| {
        join([
            &[store_imm(4, 10, -8, 0), store_imm(8, 10, -16, 0)],
            &map(1, 0),
            &[copy(2, 10), add(2, -8), helper(LOOKUP), copy(1, 0)],
            what,
            &[mov(3, 8), helper(1 << 24), exit()],
        ])
    };
    let specs = [sized(MapKind::Array, 1 << 24)];
    let at = |slots: &[Raw]| slots.len() - 2;
    let paid = |slots: &[Raw]| {
        let verified = verify_with(slots, specs.to_vec()).unwrap();
        verified.cost_helper(at(slots))
    };
    assert_eq!(paid(&compared(&[copy(2, 1)])), 50 + 2 * HUGE);
    // One is the stack's, which is not told apart.
    let stack = [copy(2, 10), add(2, -16)];
    assert_eq!(paid(&compared(&stack)), 50 + 2 * HUGE);
    let only = [copy(1, 10), add(1, -16), copy(2, 10), add(2, -16)];
    assert_eq!(paid(&compared(&only)), 50);
}

/// A function that reads where its argument points: to the stack in one call, to a map in the other.
#[test]
fn a_load_from_the_stack_or_a_large_map_is_paid_for() {
    let slots = join([
        &[store_imm(4, 10, -8, 0), store_imm(8, 10, -16, 0)],
        &map(1, 0),
        &[copy(2, 10), add(2, -8), helper(LOOKUP), copy(1, 0), call(4)],
        &[copy(1, 10), add(1, -16), call(1), exit()],
        &[load(8, 0, 1, 0), exit()],
    ]);
    let at = slots.len() - 2;
    let weight = |bytes| {
        let verified = verify_with(&slots, vec![sized(MapKind::Array, bytes)]).unwrap();
        verified.weight(at)
    };
    assert_eq!(
        [weight(1 << 12), weight(1 << 21), weight(1 << 24)],
        [1, 1 + LARGE, 1 + HUGE]
    );
}

#[test]
fn going_on_with_a_program_of_a_large_map_is_paid_for() {
    let program = |bytes| MapSpec {
        choices: vec![6],
        ..sized(MapKind::Programs, bytes)
    };
    let slots = join([
        &map(2, 0),
        &[mov(3, 0), helper(GO_ON), mov(0, 0), exit()],
        &[mov(0, 0), exit()],
    ]);
    // A value takes 8 bytes.
    let paid = cost(&slots, &[program(1 << 24)]) - cost(&slots, &[program(1 << 12)]);
    assert_eq!(paid, LARGE);
}

fn both(verified: &Verified, fuel: u32) -> Option<u64> {
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
    let ran = interpreter::run(verified, &maps, &[b"", b""], fuel);
    assert!(
        matches!(ran.result, Ok(_) | Err(Fault::OutOfFuel)),
        "{ran:?}"
    );
    let compiled = Compiled::new(verified, maps, fuel).unwrap();
    assert_eq!(compiled.run([b"", b""]).ok(), ran.result.ok());
    ran.result.ok()
}

#[test]
fn one_unit_less_than_the_places_cost_is_too_little() {
    let slots = using(0, LOOKUP);
    let verified = verify_with(&slots, vec![sized(MapKind::Hash, 1 << 20)]).unwrap();
    // A lookup, its key's bytes, and three places.
    let needed = verified.cost() + 100 + 8 + 3 * LARGE;
    assert_eq!(both(&verified, needed as u32), Some(0));
    assert_eq!(both(&verified, needed as u32 - 1), None);
}
