//! What the tests share: instructions by name, and the comparison of both ways to run a program.
#![allow(dead_code, reason = "no test uses all of it")]

pub mod agree;
pub mod compilers;
pub mod generate;

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

/// An array of four 16-byte values, a hash of four 8-byte ones, 24 read-only bytes, a queue.
pub fn maps() -> Vec<MapSpec> {
    let spec = |name: &str, kind, key_size, value_size, max_entries| MapSpec {
        name: name.to_owned(),
        kind,
        key_size,
        value_size,
        max_entries,
        read_only: name == "constants",
        initial: Vec::new(),
    };
    vec![
        spec("array", MapKind::Array, 4, 16, 4),
        spec("hash", MapKind::Hash, 8, 8, 4),
        spec("constants", MapKind::Array, 4, 24, 1),
        spec("events", MapKind::Events, 0, 0, 4096),
    ]
}

/// Two windows: what is filtered, and another.
pub fn layout() -> ContextLayout {
    ContextLayout::windows(2)
}

/// Decodes and verifies; the error as a user sees it.
pub fn verify(slots: &[Raw]) -> Result<Verified, String> {
    let program = Program::new(slots, maps()).map_err(|error| error.to_string())?;
    Verified::new(program, layout()).map_err(|error| error.to_string())
}
