//! A page of code in each guest that uses pages, so that KVM has them ready: what a call finds ready
//! must not depend on the calls before.

use std::ops::Range;

use super::areas::{Access, PAGE};
use super::memory::{LOWEST, Memory};
use super::vm::{Exit, Vm};

/// The code's page. Programs lie above it.
pub const PLACE: Range<u64> = LOWEST..LOWEST + PAGE;
/// For each of RCX pages at RSI: `mov al, [rsi]; add rsi, 4096; dec rcx; jnz`, then `syscall`.
const READ: [u8; 16] = [
    0x8a, 0x06, 0x48, 0x81, 0xc6, 0, 0x10, 0, 0, 0x48, 0xff, 0xc9, 0x75, 0xf2, 0x0f, 0x05,
];
/// The same with `mov [rsi], al` behind the first instruction.
const WRITE: [u8; 18] = [
    0x8a, 0x06, 0x88, 0x06, 0x48, 0x81, 0xc6, 0, 0x10, 0, 0, 0x48, 0xff, 0xc9, 0x75, 0xf0, 0x0f,
    0x05,
];
const WRITE_AT: u64 = PLACE.start + 64;

/// Put the code into new memory.
pub fn place(memory: &mut Memory) -> bool {
    let access = Access {
        read: true,
        write: false,
        execute: true,
    };
    let placed = memory.set(PLACE, Some(access));
    memory.place_bytes(PLACE.start, &READ);
    memory.place_bytes(WRITE_AT, &WRITE);
    placed
}

/// Let the guest use all that lasts from call to call. Its registers are then to be restored.
///
/// # Errors
///
/// When KVM does not do what it should, in words.
pub fn touch(vm: &mut Vm, memory: &Memory) -> Result<(), String> {
    for (range, write) in memory.lasting() {
        let pages = (range.end - range.start) / PAGE;
        let code = if write { WRITE_AT } else { PLACE.start };
        vm.go(code, [range.start, pages])?;
        loop {
            match vm.run(memory)? {
                Exit::Call(_) => break,
                Exit::Interrupted => {}
                Exit::Fault(at) => {
                    return Err(format!("the guest cannot use its page at {at:#x}"));
                }
            }
        }
    }
    Ok(())
}
