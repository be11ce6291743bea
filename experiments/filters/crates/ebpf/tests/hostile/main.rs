//! Programs that would do harm: each is rejected for its own reason, or stopped.

mod bounds;
mod callbacks;
#[path = "../common/mod.rs"]
mod common;
mod far;
mod flow;
mod keys;
mod memory;
mod parts;
mod reserved;
mod time;
mod turns;
mod values;
mod windows;

use common::*;
use filter_ebpf::insn::Raw;

fn rejected(slots: impl IntoIterator<Item = Raw>, reason: &str) {
    let slots: Vec<Raw> = slots.into_iter().collect();
    match verify(&slots) {
        Ok(_) => panic!("accepted, expected a rejection with {reason:?}"),
        Err(found) => assert!(
            found.contains(reason),
            "found {found:?}, expected {reason:?}"
        ),
    }
}

fn join<const N: usize>(parts: [&[Raw]; N]) -> Vec<Raw> {
    parts.concat()
}

/// r6 becomes a value of the array, or the program ends.
fn value() -> Vec<Raw> {
    let start = [store_imm(4, 10, -4, 0)];
    let rest = [
        copy(2, 10),
        add(2, -4),
        helper(1),
        branch(5, 0, 0, 2),
        mov(0, 0),
        exit(),
        copy(6, 0),
        mov(0, 0),
    ];
    join([&start, &map(1, ARRAY), &rest])
}
