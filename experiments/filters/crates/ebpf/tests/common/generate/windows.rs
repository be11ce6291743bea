//! Pieces of programs that read the first window.

use filter_ebpf::insn::Raw;

use super::super::{add, branch, branch_register, copy, load, mov, raw};
use super::{Choices, numbers};

/// Reads in the window, at a constant or at a number below 256, behind a comparison with its end.
pub fn window(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let (dst, index) = (choices.register(), choices.register());
    slots.push(copy(8, 6));
    if choices.below(2) == 0 {
        slots.extend([raw(0x57, index, 0, 0, 0xff), raw(0x0f, 8, index, 0, 0)]);
    }
    let bytes = [1, 2, 4, 8][usize::from(choices.below(4))];
    // Rarely one byte less than is read.
    let compared = i32::from(bytes) - i32::from(choices.below(16) / 15);
    slots.extend([copy(1, 8), add(1, compared), branch_register(2, 1, 7, 1)]);
    slots.push(load(bytes, dst, 8, 0));
}

/// Compare start + index with the end, change the index or not, and read at start + index again.
pub fn recomputed(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let (dst, index) = (choices.register(), choices.register());
    let bytes = [1, 2, 4, 8][usize::from(choices.below(4))];
    // More room than is read, by as much as the index may move; rarely it moves further.
    let more = choices.below(4);
    let moved = match choices.below(16) {
        15 => -1,
        14 => i32::from(more) + 1,
        _ => i32::from(choices.below(more + 1)),
    };
    let class = if choices.below(3) == 0 { 4 } else { 7 };
    let read = [
        raw(class, index, 0, 0, moved),
        copy(8, 6),
        raw(0x0f, 8, index, 0, 0),
        load(bytes, dst, 8, 0),
    ];
    slots.extend([
        raw(0x57, index, 0, 0, 0xff),
        copy(8, 6),
        raw(0x0f, 8, index, 0, 0),
    ]);
    slots.extend([add(8, i32::from(bytes + more)), branch_register(2, 8, 7, 4)]);
    slots.extend(read);
}

/// A loop with an index over the window that compares in each turn, as compilers turn it around or not.
pub fn scanned(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let turns = i32::from(choices.byte()) + 1;
    let step = 1 + i32::from(choices.below(3));
    let bytes = [1, 2, 4][usize::from(choices.below(3))];
    slots.extend([mov(2, 0), mov(3, 0)]);
    let read = [
        copy(8, 6),
        raw(0x0f, 8, 2, 0, 0),
        load(bytes, 4, 8, 0),
        raw(0x0f, 3, 4, 0, 0),
    ];
    if choices.below(2) == 0 {
        slots.extend([
            copy(8, 6),
            add(8, i32::from(bytes)),
            branch_register(2, 8, 7, 8),
        ]);
        slots.extend(read);
        slots.extend([
            branch(2, 2, turns, 3),
            add(2, step),
            add(8, step + i32::from(bytes)),
        ]);
        slots.push(branch_register(11, 8, 7, -8));
    } else {
        slots.extend([copy(8, 6), raw(0x0f, 8, 2, 0, 0), add(8, i32::from(bytes))]);
        slots.push(branch_register(2, 8, 7, 6));
        slots.extend(read);
        slots.extend([add(2, step), branch(10, 2, turns, -10)]);
    }
    numbers(choices, slots);
}
