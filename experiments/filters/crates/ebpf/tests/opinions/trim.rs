//! Instructions without those that none can reach, which the kernel does not accept.

use filter_ebpf::insn::Raw;

/// Where else than to what follows an instruction leads.
fn target(at: usize, slot: &Raw) -> Option<usize> {
    let distance = match (slot.opcode & 7, slot.opcode) {
        (_, 0x18) if slot.src == 4 => i64::from(slot.imm),
        (5, 0x85) if slot.src == 1 => i64::from(slot.imm),
        (6, 0x06) => i64::from(slot.imm),
        (5, 0x85 | 0x95) => return None,
        (5 | 6, _) => i64::from(slot.offset),
        _ => return None,
    };
    usize::try_from(at as i64 + 1 + distance).ok()
}

/// Return the instructions that the first leads to, and where functions begin among them.
pub fn reachable(slots: &[Raw]) -> (Vec<Raw>, Vec<usize>) {
    let mut reached = vec![false; slots.len()];
    let mut functions = vec![0];
    let mut waiting = vec![0];
    while let Some(at) = waiting.pop() {
        if at >= slots.len() || std::mem::replace(&mut reached[at], true) {
            continue;
        }
        let slot = &slots[at];
        if let Some(target) = target(at, slot) {
            waiting.push(target);
            let refers = (slot.opcode, slot.src);
            if matches!(refers, (0x85, 1) | (0x18, 4)) {
                functions.push(target);
            }
        }
        if !matches!(slot.opcode, 0x05 | 0x06 | 0x95) {
            waiting.push(at + 1);
        }
    }
    let mut places = vec![0];
    for reached in &reached {
        places.push(places[places.len() - 1] + usize::from(*reached));
    }
    let kept = slots.iter().enumerate().filter(|(at, _)| reached[*at]);
    let kept = kept.map(|(at, slot)| {
        let mut slot = *slot;
        if let Some(target) = target(at, &slot) {
            let distance = places[target] as i32 - places[at] as i32 - 1;
            if matches!(slot.opcode, 0x18 | 0x85 | 0x06) {
                slot.imm = distance;
            } else {
                slot.offset = distance as i16;
            }
        }
        slot
    });
    let kept = kept.collect();
    let mut functions: Vec<usize> = functions.into_iter().map(|at| places[at]).collect();
    functions.sort_unstable();
    functions.dedup();
    (kept, functions)
}
