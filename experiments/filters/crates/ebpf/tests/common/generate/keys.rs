//! Pieces of programs that use a hash with keys and values in memory that a helper may change meanwhile.

use filter_ebpf::insn::Raw;

use super::super::{ARRAY, EVENTS, HASH, PER_CPU, add, branch, copy, helper, map, mov, store_imm};
use super::parts::finish;
use super::{Choices, numbers};

/// Use a hash with key and value in a value of an array or in a record, where they may overlap.
pub fn aliased(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    if choices.below(3) == 0 {
        in_a_record(choices, slots);
    } else {
        in_a_value(choices, slots);
    }
    slots.push(mov(8, 0));
    numbers(choices, slots);
}

/// The arguments of a call with the key at r8 and the value there or behind.
fn arguments(choices: &mut Choices<'_>, offset: i32) -> Vec<Raw> {
    let key = store_imm(8, 8, 0, choices.below(6).into());
    let flags = mov(4, i32::from(choices.below(3)));
    let rest = [copy(2, 8), copy(3, 8), add(3, offset), flags];
    [&[key][..], &map(1, HASH), &rest].concat()
}

fn in_a_record(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    slots.extend(map(1, EVENTS));
    slots.extend([mov(2, 16), mov(3, 0), helper(131)]);
    let offset = 8 * i32::from(choices.below(2));
    let mut body = vec![copy(8, 0), store_imm(8, 8, 8, choices.number())];
    body.extend(arguments(choices, offset));
    let number = 1 + i32::from(choices.below(3));
    body.extend([helper(number), mov(0, 0)]);
    body.extend(finish(choices));
    slots.push(branch(1, 0, 0, body.len() as i16));
    slots.extend(body);
    slots.push(mov(0, 0));
}

fn in_a_value(choices: &mut Choices<'_>, slots: &mut Vec<Raw>) {
    let offset = 8 * i32::from(choices.below(2));
    slots.push(store_imm(4, 10, -48, choices.below(4).into()));
    slots.extend(map(1, [ARRAY, PER_CPU][usize::from(choices.below(2))]));
    slots.extend([copy(2, 10), add(2, -48), helper(1), copy(8, 0)]);
    slots.extend(arguments(choices, offset));
    match choices.below(4) {
        // The key in the hash's own value, and the value of another entry or of the same one.
        3 => {
            slots.extend([helper(1), branch(1, 0, 0, 8), copy(8, 0)]);
            slots.extend(map(1, HASH));
            slots.extend([copy(2, 8), copy(3, 8), mov(4, 0), helper(2), mov(0, 0)]);
        }
        number => slots.extend([helper([1, 2, 3][usize::from(number)]), mov(0, 0)]),
    }
}
