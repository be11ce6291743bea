//! The language in which the public conformance suite writes its programs, one instruction a line.

use std::collections::HashMap;

use filter_ebpf::insn::Raw;

use crate::common::{raw, wide};

const ALU: [&str; 13] = [
    "add", "sub", "mul", "div", "or", "and", "lsh", "rsh", "neg", "mod", "xor", "mov", "arsh",
];
const JUMPS: [&str; 14] = [
    "ja", "jeq", "jgt", "jge", "jset", "jne", "jsgt", "jsge", "call", "exit", "jlt", "jle", "jslt",
    "jsle",
];
const SIZES: [(&str, u8); 4] = [("w", 0x00), ("h", 0x08), ("b", 0x10), ("dw", 0x18)];
const REGISTER: u8 = 0x08;
const FETCH: i32 = 1;

/// Return the slots of a program, or the line that is not understood.
pub fn assemble(text: &str) -> Result<Vec<Raw>, String> {
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .collect();
    let mut labels = HashMap::new();
    let mut slot = 0;
    for line in &lines {
        match line.strip_suffix(':') {
            Some(label) => drop(labels.insert(label, slot)),
            None => slot += 1 + i32::from(line.starts_with("lddw")),
        }
    }
    // Programs jump to their end by this name, which they do not define.
    labels.entry("exit").or_insert(slot - 1);
    let mut slots = Vec::new();
    for line in lines.iter().filter(|line| !line.ends_with(':')) {
        let next = slots.len() as i32 + 1;
        let found = instruction(line, &labels, next).ok_or_else(|| (*line).to_owned())?;
        slots.extend(found);
    }
    Ok(slots)
}

fn instruction(line: &str, labels: &HashMap<&str, i32>, next: i32) -> Option<Vec<Raw>> {
    let words: Vec<&str> = line
        .split(|mark: char| mark == ',' || mark.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect();
    let distance = |to: &str| match to.strip_prefix('+') {
        Some(number) => number.parse().ok(),
        None => labels.get(to).map(|at| at - next),
    };
    let one = match words[..] {
        ["exit"] => raw(0x95, 0, 0, 0, 0),
        ["ja", to] => raw(0x05, 0, 0, short(distance(to)?)?, 0),
        ["ja32", to] => raw(0x06, 0, 0, 0, distance(to)?),
        ["call", "local", to] => raw(0x85, 0, 1, 0, distance(to)?),
        ["call", by] => match register(by) {
            Some(src) => raw(0x8d, src, 0, 0, 0),
            None => raw(0x85, 0, 0, 0, constant(by)?),
        },
        ["lddw", dst, value] => {
            let value = number(value)?;
            return Some(wide(register(dst)?, 0, value as i32, (value >> 32) as i32).to_vec());
        }
        ["lock", ref rest @ ..] => locked(rest)?,
        [name, dst] => unary(name, register(dst)?)?,
        [name, first, second] => binary(name, first, second)?,
        [name, dst, operand, to] => {
            let (name, class) = halved(name, 0x05, 0x06);
            let operation = place(&JUMPS, name)? << 4;
            let (source, src, imm) = operand_of(operand)?;
            let to = short(distance(to)?)?;
            raw(class | operation | source, register(dst)?, src, to, imm)
        }
        _ => return None,
    };
    Some(vec![one])
}

fn unary(name: &str, dst: u8) -> Option<Raw> {
    let swap = |opcode, width: &str| Some(raw(opcode, dst, 0, 0, width.parse().ok()?));
    if let Some(width) = name.strip_prefix("le") {
        return swap(0xd4, width);
    }
    if let Some(width) = name.strip_prefix("be") {
        return swap(0xdc, width);
    }
    if let Some(width) = name
        .strip_prefix("bswap")
        .or_else(|| name.strip_prefix("swap"))
    {
        return swap(0xd7, width);
    }
    match name {
        "neg" => Some(raw(0x87, dst, 0, 0, 0)),
        "neg32" => Some(raw(0x84, dst, 0, 0, 0)),
        _ => None,
    }
}

fn binary(name: &str, first: &str, second: &str) -> Option<Raw> {
    if let Some(widths) = name.strip_prefix("movsx") {
        let bits = ["8", "16", "32"]
            .into_iter()
            .find(|bits| widths.starts_with(bits))?;
        let class = if widths == format!("{bits}32") {
            0x04
        } else {
            0x07
        };
        let (dst, src) = (register(first)?, register(second)?);
        return Some(raw(
            class | 0xb0 | REGISTER,
            dst,
            src,
            bits.parse().ok()?,
            0,
        ));
    }
    // Of st, stx, ldx and ldxs the longest that fits.
    for (kind, opcode) in [("ldxs", 0x81), ("ldx", 0x61), ("stx", 0x63), ("st", 0x62)] {
        let Some(size) = name
            .strip_prefix(kind)
            .and_then(|size| SIZES.iter().find(|(text, _)| *text == size))
        else {
            continue;
        };
        let opcode = opcode | size.1;
        if kind.starts_with("ldx") {
            let (base, offset) = memory(second)?;
            return Some(raw(opcode, register(first)?, base, offset, 0));
        }
        let (base, offset) = memory(first)?;
        return Some(match kind {
            "stx" => raw(opcode, base, register(second)?, offset, 0),
            _ => raw(opcode, base, 0, offset, constant(second)?),
        });
    }
    let (name, class) = halved(name, 0x07, 0x04);
    let (name, signed) = match name {
        "sdiv" => ("div", 1),
        "smod" => ("mod", 1),
        _ => (name, 0),
    };
    let operation = place(&ALU, name)? << 4;
    let (source, src, imm) = operand_of(second)?;
    Some(raw(
        class | operation | source,
        register(first)?,
        src,
        signed,
        imm,
    ))
}

/// What follows `lock`: `[fetch] OPERATION [%rN+OFFSET], %rN`.
fn locked(words: &[&str]) -> Option<Raw> {
    let (fetch, words) = match words {
        ["fetch", rest @ ..] => (FETCH, rest),
        _ => (0, words),
    };
    let &[name, at, src] = words else {
        return None;
    };
    let (name, opcode) = halved(name, 0xdb, 0xc3);
    let operation = match name {
        "add" => fetch,
        "or" => 0x40 | fetch,
        "and" => 0x50 | fetch,
        "xor" => 0xa0 | fetch,
        "xchg" => 0xe0 | FETCH,
        "cmpxchg" => 0xf0 | FETCH,
        _ => return None,
    };
    let (base, offset) = memory(at)?;
    Some(raw(opcode, base, register(src)?, offset, operation))
}

/// Return a name without its `32`, and the class that it has with it, or without.
fn halved(name: &str, wide: u8, half: u8) -> (&str, u8) {
    match name.strip_suffix("32") {
        Some(name) => (name, half),
        None => (name, wide),
    }
}

fn place(names: &[&str], name: &str) -> Option<u8> {
    names
        .iter()
        .position(|each| *each == name)
        .map(|at| at as u8)
}

/// Return the bit of a register as source, its number, and the constant.
fn operand_of(text: &str) -> Option<(u8, u8, i32)> {
    match register(text) {
        Some(src) => Some((REGISTER, src, 0)),
        None => Some((0, 0, constant(text)?)),
    }
}

fn register(text: &str) -> Option<u8> {
    text.strip_prefix("%r")?.parse().ok()
}

/// Return the register and the offset of `[%rN+OFFSET]`.
fn memory(text: &str) -> Option<(u8, i16)> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let at = inner.find(['+', '-']).unwrap_or(inner.len());
    let offset = match &inner[at..] {
        "" => 0,
        signed => short(number(signed.trim_start_matches('+'))? as i32)?,
    };
    Some((register(&inner[..at])?, offset))
}

fn short(number: i32) -> Option<i16> {
    number.try_into().ok()
}

fn constant(text: &str) -> Option<i32> {
    let value = number(text)? as i64;
    // 0xffffffff is written for -1.
    i32::try_from(value)
        .ok()
        .or_else(|| u32::try_from(value).ok().map(|value| value as i32))
}

/// Read a number, decimal or hexadecimal, as 64 bits.
pub fn number(text: &str) -> Option<u64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}
