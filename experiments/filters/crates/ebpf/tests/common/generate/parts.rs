//! Pieces of programs that reserve records, look into maps of maps, have functions called, and go on with
//! other programs.

use filter_ebpf::insn::Raw;

use super::super::{
    EVENTS, OUTER, OUTER_HASH, PROGRAMS, add, atomic, branch, copy, exit, function, helper, load,
    map, mov, raw, store, store_imm, wide,
};
use super::{Choices, arithmetic, array, hash, numbers, piece};

/// Where what is reserved is kept, and where a callback's numbers are.
const KEPT: i16 = -104;
const CONTEXT: i32 = -96;

/// r0 becomes the address of so many bytes of the queue, or null.
fn reserve(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) -> i16 {
    let bytes = [8, 16, 40, 1000][usize::from(choices.below(4))];
    slots.extend(map(1, EVENTS));
    slots.extend([mov(2, bytes.into()), mov(3, 0), helper(131)]);
    bytes
}

/// Submit or discard what r8 is the address of.
pub fn finish(choices: &mut Choices<'_>) -> [Raw; 3] {
    let number = 132 + i32::from(choices.below(2));
    [copy(1, 8), mov(2, 0), helper(number)]
}

/// Reserve, fill in and finish.
pub fn reserved(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let bytes = reserve(choices, slots);
    // Rarely beyond the last.
    let place = 8
        * (i16::from(choices.byte()) % (bytes / 8 + 1))
            .min(bytes / 8 - 1 + i16::from(choices.byte() == 0));
    let mut body = vec![copy(8, 0), load(8, 2, 10, -8), store(8, 8, place, 2)];
    if choices.below(2) == 0 {
        body.extend([atomic(8, 8, 0, 2, 1), store(8, 10, -16, 2)]);
    }
    body.extend(finish(choices));
    slots.push(branch(1, 0, 0, body.len() as i16));
    slots.extend(body);
    slots.extend([mov(8, 0), mov(0, 0)]);
    numbers(choices, slots);
}

/// Reserve, do something else, and finish.
pub fn kept(choices: &mut Choices<'_>, slots: &mut Vec<Raw>, depth: usize) {
    reserve(choices, slots);
    slots.extend([store(8, 10, KEPT, 0), mov(0, 0)]);
    numbers(choices, slots);
    piece(choices, slots, depth + 1);
    slots.push(load(8, 8, 10, KEPT));
    if choices.below(2) == 0 {
        slots.extend([branch(1, 8, 0, 4), store_imm(4, 8, 4, choices.number())]);
    } else {
        slots.push(branch(1, 8, 0, 3));
    }
    slots.extend(finish(choices));
    slots.extend([store_imm(8, 10, KEPT, 0), mov(8, 0), mov(0, 0)]);
    numbers(choices, slots);
}

/// Look something up in a map that another one names, and count in it.
pub fn inner(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let target = [OUTER, OUTER_HASH][usize::from(choices.below(2))];
    slots.push(store_imm(4, 10, -48, choices.below(5).into()));
    slots.extend(map(1, target));
    slots.extend([copy(2, 10), add(2, -48), helper(1)]);
    let mut body = vec![copy(1, 0), store_imm(4, 10, -48, choices.below(5).into())];
    body.extend([copy(2, 10), add(2, -48)]);
    if choices.below(2) == 0 {
        body.extend([helper(1), branch(1, 0, 0, 3)]);
        let place = 8 * i16::from(choices.below(2));
        body.extend([load(8, 2, 10, -8), atomic(8, 0, place, 2, 1)]);
        body.push(store(8, 10, -16, 2));
    } else {
        body.extend([copy(3, 10), add(3, -32), mov(4, 0), helper(2)]);
    }
    slots.push(branch(1, 0, 0, body.len() as i16));
    slots.extend(body);
    slots.push(mov(0, 0));
    numbers(choices, slots);
}

/// Have a function called again and again, with two numbers of the stack.
pub fn turned(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let (first, second) = (choices.number(), choices.number());
    slots.extend([
        store_imm(8, 10, CONTEXT as i16, first),
        store_imm(8, 10, CONTEXT as i16 + 8, second),
    ]);
    let flags = i32::from(choices.byte() == 1);
    let count = match choices.below(8) {
        0 => choices.number(),
        _ => choices.below(12).into(),
    };
    slots.extend(function(2, 1 + i32::from(choices.below(2))));
    // Only the lower half of the count matters.
    slots.extend(wide(1, 0, count, i32::from(choices.below(4) == 3)));
    slots.extend([copy(3, 10), add(3, CONTEXT), mov(4, flags), helper(181)]);
    slots.extend([load(8, 2, 10, CONTEXT as i16), raw(0xaf, 0, 2, 0, 0)]);
    slots.push(copy(8, 0));
    numbers(choices, slots);
    slots.extend([copy(0, 8), mov(8, 0)]);
}

/// A function of the turn's number and of two numbers in memory, which it changes.
pub fn callback(choices: &mut Choices<'_>) -> Vec<Raw> {
    let mut slots = vec![copy(6, 2), copy(7, 1)];
    slots.extend((1..=4).map(|slot| store_imm(8, 10, -8 * slot, slot.into())));
    numbers(choices, &mut slots);
    match choices.below(4) {
        0 => hash(choices, &mut slots),
        1 => array(choices, &mut slots),
        _ => {}
    }
    let (from, to) = [(0, 0), (0, 8), (8, 0), (8, 8)][usize::from(choices.below(4))];
    slots.extend([load(8, 0, 6, from), copy(2, 7)]);
    for _ in 0..choices.below(4) {
        slots.push(arithmetic(choices));
    }
    slots.push(store(8, 6, to, 0));
    if choices.below(8) == 0 {
        // A number that grows turn by turn, as an index of the stack.
        slots.extend([load(8, 2, 6, 8), raw(0x57, 2, 0, 0, 15), copy(3, 10)]);
        slots.extend([raw(0x1f, 3, 2, 0, 0), load(1, 4, 3, -17), store(8, 6, 0, 4)]);
    }
    let last = choices.below(10).into();
    slots.extend([mov(0, 0), branch(10, 7, last, 1), mov(0, 1), exit()]);
    slots
}

/// Go on with another program, or not.
pub fn gone_on(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    slots.push(copy(1, 9));
    slots.extend(map(2, PROGRAMS));
    slots.extend([mov(3, choices.below(4).into()), helper(12)]);
    numbers(choices, slots);
}

/// Ask the queue about itself.
pub fn asked(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    slots.extend(map(1, EVENTS));
    slots.extend([mov(2, choices.below(5).into()), helper(134)]);
    slots.push(store(8, 10, -40, 0));
    numbers(choices, slots);
    slots.push(load(8, 0, 10, -40));
}
