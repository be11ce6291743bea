//! What the tests share: instructions by name, and the comparison of both ways to run a program.
#![allow(dead_code, reason = "no test uses all of it")]

pub mod agree;
pub mod cases;
pub mod compilers;
pub mod generate;
pub mod random;

use filter_ebpf::context::ContextLayout;
use filter_ebpf::insn::Raw;
use filter_ebpf::program::{MapKind, MapSpec, Program};
use filter_ebpf::verifier::Verified;

pub fn raw(opcode: u8, dst: u8, src: u8, offset: i16, imm: i32) -> Raw {
    Raw {
        opcode,
        dst,
        src,
        offset,
        imm,
    }
}

pub fn mov(dst: u8, imm: i32) -> Raw {
    raw(0xb7, dst, 0, 0, imm)
}

pub fn copy(dst: u8, src: u8) -> Raw {
    raw(0xbf, dst, src, 0, 0)
}

pub fn add(dst: u8, imm: i32) -> Raw {
    raw(0x07, dst, 0, 0, imm)
}

pub fn add_register(dst: u8, src: u8) -> Raw {
    raw(0x0f, dst, src, 0, 0)
}

fn size(bytes: u8) -> u8 {
    match bytes {
        1 => 0x10,
        2 => 0x08,
        4 => 0x00,
        _ => 0x18,
    }
}

pub fn load(bytes: u8, dst: u8, base: u8, offset: i16) -> Raw {
    raw(0x61 | size(bytes), dst, base, offset, 0)
}

pub fn store(bytes: u8, base: u8, offset: i16, src: u8) -> Raw {
    raw(0x63 | size(bytes), base, src, offset, 0)
}

pub fn store_imm(bytes: u8, base: u8, offset: i16, imm: i32) -> Raw {
    raw(0x62 | size(bytes), base, 0, offset, imm)
}

/// An atomic operation by its number, as 0x00 for adding and 0x01 for adding with the old value back.
pub fn atomic(bytes: u8, base: u8, offset: i16, src: u8, operation: i32) -> Raw {
    raw(0xc3 | size(bytes), base, src, offset, operation)
}

pub fn wide(dst: u8, src: u8, low: i32, high: i32) -> [Raw; 2] {
    [raw(0x18, dst, src, 0, low), raw(0, 0, 0, 0, high)]
}

pub fn map(dst: u8, number: i32) -> [Raw; 2] {
    wide(dst, 1, number, 0)
}

pub fn jump(offset: i16) -> Raw {
    raw(0x05, 0, 0, offset, 0)
}

/// A jump by its number (1 is equal, 2 above, 5 not equal, 10 below), against a constant.
pub fn branch(cond: u8, dst: u8, imm: i32, offset: i16) -> Raw {
    raw(cond << 4 | 5, dst, 0, offset, imm)
}

pub fn branch_register(cond: u8, dst: u8, src: u8, offset: i16) -> Raw {
    raw(cond << 4 | 0xd, dst, src, offset, 0)
}

/// The address of a function, `distance` slots after the next slot.
pub fn function(dst: u8, distance: i32) -> [Raw; 2] {
    wide(dst, 4, distance, 0)
}

pub fn helper(number: i32) -> Raw {
    raw(0x85, 0, 0, 0, number)
}

pub fn call(distance: i32) -> Raw {
    raw(0x85, 0, 1, 0, distance)
}

pub fn exit() -> Raw {
    raw(0x95, 0, 0, 0, 0)
}

pub const ARRAY: i32 = 0;
pub const HASH: i32 = 1;
pub const CONSTANTS: i32 = 2;
pub const EVENTS: i32 = 3;

pub const LRU: i32 = 4;
pub const PER_CPU: i32 = 5;
pub const PER_CPU_HASH: i32 = 6;
pub const LRU_PER_CPU: i32 = 7;
pub const OUTER: i32 = 8;
pub const OUTER_HASH: i32 = 9;
pub const INNER: [i32; 2] = [10, 11];
pub const PROGRAMS: i32 = 12;

/// An array of four 16-byte values, a hash of four 8-byte ones, 24 read-only bytes, a queue; the same hash and
/// array of other kinds; maps that name two arrays; and one that names no programs yet.
pub fn maps() -> Vec<MapSpec> {
    let spec = |name: &str, kind, key_size, value_size, max_entries| MapSpec {
        name: name.to_owned(),
        kind,
        key_size,
        value_size,
        max_entries,
        read_only: name == "constants",
        initial: Vec::new(),
        choices: Vec::new(),
    };
    let outer = |name: &str, kind| MapSpec {
        // The first names the first, the third the second.
        initial: [1u32, 0, 2].iter().flat_map(|n| n.to_le_bytes()).collect(),
        choices: INNER.map(|number| number as usize).to_vec(),
        ..spec(name, kind, 4, 4, 4)
    };
    vec![
        spec("array", MapKind::Array, 4, 16, 4),
        spec("hash", MapKind::Hash, 8, 8, 4),
        spec("constants", MapKind::Array, 4, 24, 1),
        spec("events", MapKind::Events, 0, 0, 4096),
        spec("lru", MapKind::LruHash, 8, 8, 4),
        spec("per_cpu", MapKind::PerCpuArray, 4, 16, 4),
        spec("per_cpu_hash", MapKind::PerCpuHash, 8, 8, 4),
        spec("lru_per_cpu", MapKind::LruPerCpuHash, 8, 8, 4),
        outer("outer", MapKind::ArrayOfMaps),
        outer("outer_hash", MapKind::HashOfMaps),
        spec("inner_a", MapKind::Array, 4, 16, 4),
        spec("inner_b", MapKind::Array, 4, 16, 4),
        spec("programs", MapKind::Programs, 4, 4, 4),
    ]
}

/// The same, where `programs` names the programs that begin at these slots, one after the other.
pub fn maps_with(programs: &[usize]) -> Vec<MapSpec> {
    let mut maps = maps();
    let spec = &mut maps[PROGRAMS as usize];
    spec.choices = programs.to_vec();
    let numbers = 1..=programs.len() as u32;
    spec.initial = numbers.flat_map(u32::to_le_bytes).collect();
    maps
}

/// Two windows: what is filtered, and another.
pub fn layout() -> ContextLayout {
    ContextLayout::windows(2)
}

/// Decodes and verifies; the error as a user sees it.
pub fn verify(slots: &[Raw]) -> Result<Verified, String> {
    verify_with(slots, maps())
}

/// The same with other maps.
pub fn verify_with(slots: &[Raw], maps: Vec<MapSpec>) -> Result<Verified, String> {
    let program = Program::new(slots, maps).map_err(|error| error.to_string())?;
    Verified::new(program, layout()).map_err(|error| error.to_string())
}
