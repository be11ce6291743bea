//! Slots into operations, and what can be refused without knowing any value.

use thiserror::Error;

use super::op::{Alu, Atomic, Cond, FRAME_POINTER, Op, Reg, Source};
use super::raw::Raw;

/// The reason why bytes are not a program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("instruction {at}: {reason}")]
pub struct DecodeError {
    /// The slot, counted from the program's first.
    pub at: usize,
    /// The fault.
    pub reason: &'static str,
}

const OUTSIDE: &str = "jumps out of the program";

/// Decode a whole program, and checks what needs no knowledge of values: opcodes, registers, unused
/// fields, and that jumps stay inside and hit the start of an instruction.
pub fn decode(slots: &[Raw]) -> Result<Vec<Op>, DecodeError> {
    let mut ops = Vec::with_capacity(slots.len());
    while ops.len() < slots.len() {
        let at = ops.len();
        let op = decode_one(slots, at).map_err(|reason| DecodeError { at, reason })?;
        ops.push(op);
        if matches!(
            op,
            Op::LoadImm { .. }
                | Op::LoadMap { .. }
                | Op::LoadMapValue { .. }
                | Op::LoadFunction { .. }
        ) {
            ops.push(Op::SecondHalf);
        }
    }
    for (at, op) in ops.iter().enumerate() {
        if let Op::Jump { target }
        | Op::Branch { target, .. }
        | Op::Call { target }
        | Op::LoadFunction { target, .. } = *op
        {
            let reason = match ops.get(target) {
                None => OUTSIDE,
                Some(Op::SecondHalf) => "jumps into the middle of a 64-bit load",
                Some(_) => continue,
            };
            return Err(DecodeError { at, reason });
        }
    }
    Ok(ops)
}

fn decode_one(slots: &[Raw], at: usize) -> Result<Op, &'static str> {
    let raw = slots[at];
    if raw.dst > FRAME_POINTER {
        return Err("names a register above r10");
    }
    match raw.opcode & 7 {
        0 => load_imm(slots, at),
        1 => load(raw),
        2 | 3 => store(raw),
        4 => alu(raw, false),
        7 => alu(raw, true),
        class => jump(raw, class == 5, at),
    }
}

fn source(raw: Raw) -> Result<Source, &'static str> {
    if raw.opcode & 8 == 0 {
        return match raw.src {
            0 => Ok(Source::Imm(raw.imm)),
            _ => Err("has a source register beside a constant"),
        };
    }
    match (raw.src, raw.imm) {
        (0..=FRAME_POINTER, 0) => Ok(Source::Reg(raw.src)),
        (0..=FRAME_POINTER, _) => Err("has a constant beside a source register"),
        _ => Err("names a register above r10"),
    }
}

fn written(dst: Reg) -> Result<Reg, &'static str> {
    match dst {
        0..FRAME_POINTER => Ok(dst),
        FRAME_POINTER => Err("writes r10, the frame pointer"),
        _ => Err("names a register above r10"),
    }
}

fn alu(raw: Raw, wide: bool) -> Result<Op, &'static str> {
    let dst = written(raw.dst)?;
    if raw.opcode >> 4 == 13 {
        if raw.offset != 0 || raw.src != 0 || !matches!(raw.imm, 16 | 32 | 64) {
            return Err("is a byte swap with unknown fields");
        }
        let bits = raw.imm as u8;
        return match (wide, raw.opcode & 8 != 0) {
            (true, true) => Err("is a byte swap with unknown fields"),
            (_, swap) => Ok(Op::ByteSwap {
                swap: swap || wide,
                bits,
                dst,
            }),
        };
    }
    let src = source(raw)?;
    let op = match (raw.opcode >> 4, raw.offset) {
        (0, 0) => Alu::Add,
        (1, 0) => Alu::Sub,
        (2, 0) => Alu::Mul,
        (3, 0) => Alu::Div,
        (3, 1) => Alu::SignedDiv,
        (4, 0) => Alu::Or,
        (5, 0) => Alu::And,
        (6, 0) => Alu::Lsh,
        (7, 0) => Alu::Rsh,
        (8, 0) if src == Source::Imm(0) => Alu::Neg,
        (9, 0) => Alu::Mod,
        (9, 1) => Alu::SignedMod,
        (10, 0) => Alu::Xor,
        (11, 0) => Alu::Mov,
        (11, 8 | 16 | 32) => {
            return match src {
                Source::Reg(src) if wide || raw.offset < 32 => Ok(Op::MoveSigned {
                    wide,
                    bits: raw.offset as u8,
                    dst,
                    src,
                }),
                _ => Err("is a sign-extending move with unknown fields"),
            };
        }
        (12, 0) => Alu::Arsh,
        _ => return Err("is an unknown arithmetic instruction"),
    };
    let width = if wide { 64 } else { 32 };
    if let (Alu::Lsh | Alu::Rsh | Alu::Arsh, Source::Imm(amount)) = (op, src)
        && !(0..width).contains(&amount)
    {
        return Err("shifts by more bits than there are");
    }
    if let (Alu::Div | Alu::SignedDiv | Alu::Mod | Alu::SignedMod, Source::Imm(0)) = (op, src) {
        return Err("divides by the constant 0");
    }
    Ok(Op::Alu { wide, op, dst, src })
}

/// The slot that is so many slots after the next one.
fn distant(at: usize, distance: i64) -> Result<usize, &'static str> {
    usize::try_from(at as i64 + 1 + distance).map_err(|_| OUTSIDE)
}

fn jump(raw: Raw, wide: bool, at: usize) -> Result<Op, &'static str> {
    let to = |distance: i64| distant(at, distance);
    let unused = |fields: bool| {
        if fields {
            Err("has a value in an unused field")
        } else {
            Ok(())
        }
    };
    let cond = match raw.opcode >> 4 {
        0 => {
            unused(raw.opcode & 8 != 0 || raw.dst != 0 || raw.src != 0)?;
            let distance = if wide {
                i64::from(raw.offset)
            } else {
                i64::from(raw.imm)
            };
            unused(if wide { raw.imm != 0 } else { raw.offset != 0 })?;
            return Ok(Op::Jump {
                target: to(distance)?,
            });
        }
        8 if wide => {
            unused(raw.opcode & 8 != 0 || raw.dst != 0 || raw.offset != 0)?;
            return match raw.src {
                0 if raw.imm >= 0 => Ok(Op::Helper {
                    number: raw.imm as u32,
                }),
                1 => Ok(Op::Call {
                    target: to(i64::from(raw.imm))?,
                }),
                _ => Err("calls neither a helper by number nor a function of the program"),
            };
        }
        9 if wide => {
            unused(raw.opcode & 8 != 0 || raw.dst | raw.src != 0)?;
            unused(raw.offset != 0 || raw.imm != 0)?;
            return Ok(Op::Exit);
        }
        1 => Cond::Eq,
        2 => Cond::Gt,
        3 => Cond::Ge,
        4 => Cond::Set,
        5 => Cond::Ne,
        6 => Cond::SignedGt,
        7 => Cond::SignedGe,
        10 => Cond::Lt,
        11 => Cond::Le,
        12 => Cond::SignedLt,
        13 => Cond::SignedLe,
        _ => return Err("is an unknown jump"),
    };
    Ok(Op::Branch {
        wide,
        cond,
        dst: raw.dst,
        src: source(raw)?,
        target: to(i64::from(raw.offset))?,
    })
}

fn width(opcode: u8) -> u8 {
    match opcode >> 3 & 3 {
        0 => 4,
        1 => 2,
        2 => 1,
        _ => 8,
    }
}

fn load(raw: Raw) -> Result<Op, &'static str> {
    let bytes = width(raw.opcode);
    let signed = match raw.opcode >> 5 {
        3 => false,
        4 if bytes < 8 => true,
        _ => return Err("is an unknown load"),
    };
    if raw.src > FRAME_POINTER {
        return Err("names a register above r10");
    }
    if raw.imm != 0 {
        return Err("has a value in an unused field");
    }
    Ok(Op::Load {
        bytes,
        signed,
        dst: written(raw.dst)?,
        base: raw.src,
        offset: raw.offset,
    })
}

fn store(raw: Raw) -> Result<Op, &'static str> {
    let (bytes, base, offset) = (width(raw.opcode), raw.dst, raw.offset);
    let register = raw.opcode & 7 == 3;
    if raw.src > FRAME_POINTER {
        return Err("names a register above r10");
    }
    match (raw.opcode >> 5, register) {
        (3, _) => {
            let value = match register {
                true if raw.imm == 0 => Source::Reg(raw.src),
                false if raw.src == 0 => Source::Imm(raw.imm),
                _ => return Err("has a value in an unused field"),
            };
            Ok(Op::Store {
                bytes,
                base,
                offset,
                value,
            })
        }
        (6, true) if bytes >= 4 => {
            let (op, fetch) = match raw.imm {
                0x00 | 0x01 => (Atomic::Add, raw.imm & 1 != 0),
                0x40 | 0x41 => (Atomic::Or, raw.imm & 1 != 0),
                0x50 | 0x51 => (Atomic::And, raw.imm & 1 != 0),
                0xa0 | 0xa1 => (Atomic::Xor, raw.imm & 1 != 0),
                0xe1 => (Atomic::Exchange, true),
                0xf1 => (Atomic::CompareExchange, true),
                _ => return Err("is an unknown atomic operation"),
            };
            if fetch && op != Atomic::CompareExchange {
                written(raw.src)?;
            }
            Ok(Op::Atomic {
                bytes,
                op,
                fetch,
                base,
                offset,
                src: raw.src,
            })
        }
        _ => Err("is an unknown store"),
    }
}

fn load_imm(slots: &[Raw], at: usize) -> Result<Op, &'static str> {
    let raw = slots[at];
    if raw.opcode != 0x18 {
        return Err("is an unknown load");
    }
    let second = slots.get(at + 1).ok_or("is half of a 64-bit load")?;
    if raw.offset != 0 || second.opcode | second.dst | second.src != 0 || second.offset != 0 {
        return Err("is a 64-bit load with a value in an unused field");
    }
    let dst = written(raw.dst)?;
    let (low, high) = (raw.imm as u32, second.imm as u32);
    match raw.src {
        0 => Ok(Op::LoadImm {
            dst,
            value: u64::from(high) << 32 | u64::from(low),
        }),
        1 if high == 0 => Ok(Op::LoadMap { dst, map: low }),
        2 => Ok(Op::LoadMapValue {
            dst,
            map: low,
            offset: high,
        }),
        4 if high == 0 => Ok(Op::LoadFunction {
            dst,
            target: distant(at, raw.imm.into())?,
        }),
        _ => Err("loads a 64-bit value of an unknown kind"),
    }
}
