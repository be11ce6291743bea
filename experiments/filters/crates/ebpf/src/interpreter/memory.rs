//! Accesses to memory, each checked first.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Fault, Machine};
use crate::insn::{Atomic, Reg};
use crate::verifier::FRAME;

fn inside(start: u64, length: u64, address: u64, bytes: u64) -> bool {
    address >= start && address - start <= length && bytes <= length - (address - start)
}

impl Machine<'_> {
    pub(super) fn check(
        &self,
        at: usize,
        address: u64,
        bytes: u64,
        write: bool,
    ) -> Result<(), Fault> {
        let frames = &self.stack[..=self.saved.len()];
        let on_stack = frames
            .iter()
            .any(|frame| inside(frame.as_ptr() as u64, FRAME as u64, address, bytes));
        let in_map = self
            .maps
            .all()
            .iter()
            .any(|map| (!write || !map.spec().read_only) && map.has(address, bytes));
        let in_window = || {
            self.windows
                .iter()
                .any(|window| inside(window.as_ptr() as u64, window.len() as u64, address, bytes))
        };
        let in_context = || {
            let length = size_of_val(self.context) as u64;
            inside(self.context.as_ptr() as u64, length, address, bytes)
        };
        let in_reserved = self
            .reserved
            .iter()
            .any(|&(start, length)| inside(start, length, address, bytes));
        if on_stack || in_map || in_reserved || !write && (in_window() || in_context()) {
            return Ok(());
        }
        Err(Fault::Memory { at, address, bytes })
    }

    pub(super) fn atomic(
        &mut self,
        at: usize,
        (op, fetch): (Atomic, bool),
        address: u64,
        bytes: u8,
        src: Reg,
    ) -> Result<(), Fault> {
        self.check(at, address, bytes.into(), true)?;
        if !address.is_multiple_of(bytes.into()) {
            let reason = "is atomic at a misaligned address";
            return Err(Fault::Illegal { at, reason });
        }
        let (operand, expected) = (self.registers[usize::from(src)], self.registers[0]);
        macro_rules! apply {
            ($atomic:ty, $number:ty) => {{
                // SAFETY: the bytes are the program's and aligned, as checked above.
                let place = unsafe { <$atomic>::from_ptr(address as *mut $number) };
                let operand = operand as $number;
                u64::from(match op {
                    Atomic::Add => place.fetch_add(operand, Ordering::SeqCst),
                    Atomic::Or => place.fetch_or(operand, Ordering::SeqCst),
                    Atomic::And => place.fetch_and(operand, Ordering::SeqCst),
                    Atomic::Xor => place.fetch_xor(operand, Ordering::SeqCst),
                    Atomic::Exchange => place.swap(operand, Ordering::SeqCst),
                    Atomic::CompareExchange => place
                        .compare_exchange(
                            expected as $number,
                            operand,
                            Ordering::SeqCst,
                            Ordering::SeqCst,
                        )
                        .unwrap_or_else(|found| found),
                })
            }};
        }
        let before = if bytes == 8 {
            apply!(AtomicU64, u64)
        } else {
            apply!(AtomicU32, u32)
        };
        if op == Atomic::CompareExchange {
            self.registers[0] = before;
        } else if fetch {
            self.registers[usize::from(src)] = before;
        }
        Ok(())
    }
}
