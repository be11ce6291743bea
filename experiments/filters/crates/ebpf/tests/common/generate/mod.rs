//! Programs out of bytes: most of them are accepted, and do a bit of everything.

mod keys;
mod parts;
mod windows;

use filter_ebpf::insn::Raw;
use filter_ebpf::verifier::Verified;

use super::{
    ARRAY, EVENTS, HASH, LRU, LRU_PER_CPU, PER_CPU, PER_CPU_HASH, add, atomic, branch, call, copy,
    exit, helper, jump, load, map, mov, raw, store, store_imm, wide,
};

/// Choices, zero when they run out.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit
    }

    /// Small numbers and the edges more often than others.
    fn number(&mut self) -> i32 {
        match self.below(8) {
            0 => 0,
            1 => -1,
            2 => i32::MIN,
            3 => i32::MAX,
            4 | 5 => i32::from(self.byte()),
            _ => i32::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }

    /// A register that holds a number: r0, or r2 to r5.
    fn register(&mut self) -> u8 {
        [0, 2, 3, 4, 5][usize::from(self.below(5))]
    }

    fn slot(&mut self) -> i16 {
        -8 * i16::from(1 + self.below(4))
    }
}

/// A program, and where others begin that it may go on with.
pub struct Made {
    pub slots: Vec<Raw>,
    pub programs: Vec<usize>,
}

impl Made {
    /// Verify it, with maps that name its programs; the error as a user sees it.
    pub fn verify(&self) -> Result<Verified, String> {
        super::verify_with(&self.slots, super::maps_with(&self.programs))
    }
}

/// Make a program: the entry, two functions, two that helpers call, and two programs to go on with.
pub fn program(choices: &mut Choices<'_>) -> Made {
    let mut slots = entry(choices, 300);
    let mut starts = Vec::new();
    for part in [function, function, parts::callback, parts::callback] {
        starts.push(slots.len());
        slots.extend(part(choices));
    }
    let mut programs = Vec::new();
    for _ in 0..2 {
        programs.push(slots.len());
        slots.extend(entry(choices, 40));
    }
    for (at, slot) in slots.iter_mut().enumerate() {
        let number = match (slot.opcode, slot.src) {
            (0x85, 1) => slot.imm,
            (0x18, 4) => slot.imm + 2,
            _ => continue,
        };
        let target = if number == 0 {
            0
        } else {
            starts[number as usize - 1]
        };
        slot.imm = target as i32 - at as i32 - 1;
    }
    Made { slots, programs }
}

/// r6 and r7 are the first window's start and end, r9 the context; the numbers are in r0 and r2…r5.
fn entry(choices: &mut Choices<'_>, most: usize) -> Vec<Raw> {
    let mut slots = vec![copy(9, 1), load(8, 6, 9, 0), load(8, 7, 9, 8)];
    for slot in 1..=4 {
        slots.push(store_imm(8, 10, -8 * slot, choices.number()));
    }
    numbers(choices, &mut slots);
    let enough = if most > 40 { 0 } else { choices.0.len() / 2 };
    while choices.0.len() > enough && slots.len() < most {
        piece(choices, &mut slots, 0);
    }
    slots.push(exit());
    slots
}

/// A function of some arithmetic on its arguments, which are numbers.
fn function(choices: &mut Choices<'_>) -> Vec<Raw> {
    let mut slots = vec![mov(0, choices.number())];
    while slots.len() < 7 {
        slots.push(arithmetic(choices));
    }
    slots.push(exit());
    slots
}

/// Call a function by its number, or rarely the entry, 0, which no program may.
fn called(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let callee = match choices.below(32) {
        0 => 0,
        number => 1 + number % 2,
    };
    slots.push(call(callee.into()));
    slots.extend([store(8, 10, -40, 0), copy(8, 0)]);
    numbers(choices, slots);
    slots.push(copy(0, 8));
}

fn numbers(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    for register in [0, 2, 3, 4, 5] {
        slots.extend(wide(register, 0, choices.number(), choices.number()));
    }
}

fn piece(choices: &mut Choices<'_>, slots: &mut Vec<Raw>, depth: usize) {
    match choices.below(22) {
        15 => parts::reserved(choices, slots),
        16 if depth < 2 => parts::kept(choices, slots, depth),
        17 => parts::inner(choices, slots),
        18 | 19 => parts::turned(choices, slots),
        20 if choices.below(4) == 0 => parts::gone_on(choices, slots),
        21 => parts::asked(choices, slots),
        13 => called(choices, slots),
        14 => keys::aliased(choices, slots),
        10 => windows::recomputed(choices, slots),
        11 => signed(choices, slots),
        12 if depth == 0 => windows::scanned(choices, slots),
        0..=3 => slots.push(arithmetic(choices)),
        4 => memory(choices, slots),
        5 => windows::window(choices, slots),
        6 => array(choices, slots),
        7 => hash(choices, slots),
        8 if depth < 3 => skipped(choices, slots, depth),
        9 if depth < 3 => repeated(choices, slots, depth),
        _ => slots.push(mov(choices.register(), choices.number())),
    }
}

fn arithmetic(choices: &mut Choices<'_>) -> Raw {
    let class = if choices.below(2) == 0 { 4 } else { 7 };
    let (dst, src) = (choices.register(), choices.register());
    let operation = choices.below(16);
    match operation {
        8 => raw(0x80 | class, dst, 0, 0, 0),
        13 | 14 => {
            let bits = [16, 32, 64][usize::from(choices.below(3))];
            let from = if class == 4 { choices.below(2) << 3 } else { 0 };
            raw(0xd0 | from | class, dst, 0, 0, bits)
        }
        15 => {
            let bits = [8, 16, 32][usize::from(choices.below(if class == 4 { 2 } else { 3 }))];
            raw(0xb8 | class, dst, src, bits, 0)
        }
        3 | 9 => {
            let signed = i16::from(choices.below(2));
            raw(operation << 4 | 8 | class, dst, src, signed, 0)
        }
        6 | 7 | 12 if choices.below(2) == 0 => {
            let amount = choices.below(if class == 4 { 32 } else { 64 });
            raw(operation << 4 | class, dst, 0, 0, i32::from(amount))
        }
        _ if choices.below(2) == 0 && !matches!(operation, 6 | 7 | 12) => {
            raw(operation << 4 | class, dst, 0, 0, choices.number())
        }
        _ => raw(operation << 4 | 8 | class, dst, src, 0, 0),
    }
}

fn memory(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let (register, slot) = (choices.register(), choices.slot());
    let bytes = [1, 2, 4, 8][usize::from(choices.below(4))];
    slots.push(match choices.below(4) {
        0 => store(bytes, 10, slot, register),
        1 => load(bytes, register, 10, slot),
        // Loads that extend the sign.
        2 => raw(
            0x81 | [0x10, 0x08, 0x00][usize::from(choices.below(3))],
            register,
            10,
            slot,
            0,
        ),
        _ => {
            let bytes = [4, 8][usize::from(choices.below(2))];
            let operations = [0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1];
            let operation = operations[usize::from(choices.below(10))];
            atomic(bytes, 10, slot, register, operation)
        }
    });
}

/// An index with a sign, bounded on both sides in 32 or 64 bits, into a value of the array.
fn signed(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let index = [2, 3, 4, 5][usize::from(choices.below(4))];
    let class = 5 + choices.below(2);
    // At least, and at most: s< and s>.
    let bounds = [
        (12, i32::from(choices.below(8))),
        (6, 8 + i32::from(choices.below(8))),
    ];
    let order = usize::from(choices.below(2));
    slots.push(store(8, 10, -40, index));
    slots.push(store_imm(4, 10, -48, choices.below(4).into()));
    slots.extend(map(1, ARRAY));
    slots.extend([copy(2, 10), add(2, -48), helper(1), load(8, 8, 10, -40)]);
    for (after, which) in [(4, order), (3, 1 - order)] {
        let (cond, bound) = bounds[which];
        slots.push(raw(cond << 4 | class, 8, 0, after + 1, bound));
    }
    // Zero or sign extended, as compilers do.
    let second = if choices.below(2) == 0 { 0x77 } else { 0xc7 };
    slots.extend([raw(0x67, 8, 0, 0, 32), raw(second, 8, 0, 0, 32)]);
    slots.extend([raw(0x0f, 0, 8, 0, 0), load(1, 8, 0, 0)]);
    slots.extend([mov(8, 0), copy(0, 8)]);
    numbers(choices, slots);
}

fn array(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let (value, offset) = (choices.register(), 8 * i16::from(choices.below(2)));
    slots.push(store(8, 10, -40, value));
    if choices.below(4) == 0 {
        // An index that is known by its bits alone.
        let index = [2, 3, 4, 5][usize::from(choices.below(4))];
        slots.extend([
            raw(0x57, index, 0, 0, choices.below(8).into()),
            store(4, 10, -48, index),
        ]);
    } else {
        slots.push(store_imm(4, 10, -48, choices.below(6).into()));
    }
    slots.extend(map(1, [ARRAY, PER_CPU][usize::from(choices.below(2))]));
    slots.extend([copy(2, 10), add(2, -48), helper(1), branch(1, 0, 0, 3)]);
    slots.extend([
        load(8, 8, 10, -40),
        atomic(8, 0, offset, 8, 0),
        load(8, 8, 0, offset),
    ]);
    slots.extend([mov(8, 0), copy(0, 8)]);
    numbers(choices, slots);
}

fn hash(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    slots.extend([
        store_imm(8, 10, -48, choices.below(6).into()),
        store_imm(8, 10, -40, choices.number()),
    ]);
    let (target, number) = match choices.below(14) {
        0 => (ARRAY, 3),
        1 => (EVENTS, 130),
        other => (
            [HASH, LRU, PER_CPU_HASH, LRU_PER_CPU][usize::from(other) / 3 % 4],
            [1, 2, 3][usize::from(other) % 3],
        ),
    };
    slots.extend(map(1, target));
    slots.extend([copy(2, 10), add(2, -48), copy(3, 10), add(3, -40)]);
    slots.push(mov(4, i32::from(choices.below(4))));
    if number == 130 {
        slots.push(mov(3, i32::from(choices.below(16)) + 1));
    }
    slots.push(helper(number));
    if number == 1 {
        slots.extend([branch(1, 0, 0, 2), load(8, 8, 0, 0), store(8, 10, -40, 8)]);
    } else {
        slots.push(store(8, 10, -40, 0));
    }
    numbers(choices, slots);
    slots.push(load(8, 0, 10, -40));
}

/// A piece behind a jump over it.
fn skipped(choices: &mut Choices<'_>, slots: &mut Vec<Raw>, depth: usize) {
    let mut inner = Vec::new();
    piece(choices, &mut inner, depth + 1);
    let conditions = [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13];
    let cond = conditions[usize::from(choices.below(11))] << 4;
    let class = if choices.below(2) == 0 { 5 } else { 6 };
    let (dst, src) = (choices.register(), choices.register());
    slots.push(if choices.below(2) == 0 {
        raw(cond | class, dst, 0, inner.len() as i16, choices.number())
    } else {
        raw(cond | 8 | class, dst, src, inner.len() as i16, 0)
    });
    slots.extend(inner);
}

/// A piece that is repeated a few times, or until the fuel is used up.
fn repeated(choices: &mut Choices<'_>, slots: &mut Vec<Raw>, depth: usize) {
    // The counter of each depth has a place of its own.
    let counter = -56 - 8 * depth as i16;
    let endless = choices.below(16) == 1;
    slots.push(store_imm(8, 10, counter, choices.below(8).into()));
    let mut inner = Vec::new();
    piece(choices, &mut inner, depth + 1);
    let length = inner.len() as i16;
    slots.extend([load(8, 1, 10, counter), branch(1, 1, 0, length + 3)]);
    slots.extend([
        add(1, if endless { 1 } else { -1 }),
        store(8, 10, counter, 1),
    ]);
    slots.extend(inner);
    slots.push(jump(-length - 5));
}
