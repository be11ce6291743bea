//! The operations one by one, and calls of the program's functions.

use super::{Fault, Machine, Saved, Turns};
use crate::concrete::{alu, byte_swap, holds, sign_extend};
use crate::insn::Op;
use crate::verifier::MAX_CALLS;

impl Machine<'_> {
    pub(super) fn go(&mut self) -> Result<u64, Fault> {
        let mut at = 0;
        loop {
            let mut next = at + 1;
            let illegal = |reason| Fault::Illegal { at, reason };
            let op = *self
                .program
                .ops()
                .get(at)
                .ok_or_else(|| illegal("is not there"))?;
            if !self.verified.reaches(at) {
                return Err(illegal("is reached, and was proved not to be"));
            }
            self.spend(at, self.verified.weight(at))?;
            match op {
                Op::Alu { wide, op, dst, src } => {
                    let (a, b) = (self.registers[usize::from(dst)], self.value(src));
                    self.registers[usize::from(dst)] = alu(wide, op, a, b);
                }
                Op::MoveSigned {
                    wide,
                    bits,
                    dst,
                    src,
                } => {
                    let extended = sign_extend(self.registers[usize::from(src)], bits);
                    let mask = if wide { u64::MAX } else { u64::from(u32::MAX) };
                    self.registers[usize::from(dst)] = extended & mask;
                }
                Op::ByteSwap { swap, bits, dst } => {
                    let register = &mut self.registers[usize::from(dst)];
                    *register = byte_swap(swap, bits, *register);
                }
                Op::Load {
                    bytes,
                    signed,
                    dst,
                    base,
                    offset,
                } => {
                    let address = self.address(base, offset);
                    self.check(at, address, bytes.into(), false)?;
                    let mut value = [0; 8];
                    // SAFETY: checked on the line above.
                    let read =
                        unsafe { std::slice::from_raw_parts(address as *const u8, bytes.into()) };
                    value[..read.len()].copy_from_slice(read);
                    let value = u64::from_le_bytes(value);
                    self.registers[usize::from(dst)] = if signed {
                        sign_extend(value, bytes * 8)
                    } else {
                        value
                    };
                }
                Op::Store {
                    bytes,
                    base,
                    offset,
                    value,
                } => {
                    let address = self.address(base, offset);
                    self.check(at, address, bytes.into(), true)?;
                    let value = self.value(value).to_le_bytes();
                    // SAFETY: checked two lines above.
                    unsafe { (address as *mut u8).copy_from(value.as_ptr(), bytes.into()) };
                }
                Op::Atomic {
                    bytes,
                    op,
                    fetch,
                    base,
                    offset,
                    src,
                } => self.atomic(at, (op, fetch), self.address(base, offset), bytes, src)?,
                Op::LoadImm { dst, value } => {
                    self.registers[usize::from(dst)] = value;
                    next = at + 2;
                }
                Op::LoadMap { dst, map } => {
                    self.registers[usize::from(dst)] =
                        std::ptr::from_ref(&self.maps.all()[map as usize]) as u64;
                    next = at + 2;
                }
                Op::LoadMapValue { dst, map, offset } => {
                    let (base, _) = self.maps.all()[map as usize]
                        .array()
                        .ok_or_else(|| illegal("takes the value of a map that is no array"))?;
                    self.registers[usize::from(dst)] = base as u64 + u64::from(offset);
                    next = at + 2;
                }
                Op::SecondHalf => return Err(illegal("is half of another")),
                Op::Jump { target } => next = self.jump(at, target)?,
                Op::Branch {
                    wide,
                    cond,
                    dst,
                    src,
                    target,
                } => {
                    let left = self.registers[usize::from(dst)];
                    let taken = holds(wide, cond, left, self.value(src));
                    let (may, may_not) = self.verified.ways(at);
                    if !(if taken { may } else { may_not }) {
                        return Err(illegal("goes a way that was proved not to be gone"));
                    }
                    if taken {
                        next = self.jump(at, target)?;
                    }
                }
                Op::LoadFunction { dst, .. } => {
                    self.registers[usize::from(dst)] = 0;
                    next = at + 2;
                }
                Op::Helper { number } => next = self.helper(at, number)?,
                Op::Call { target } => {
                    self.call(at, next, None)?;
                    next = target;
                }
                Op::Exit => match self.leave(at)? {
                    Some(back) => next = back,
                    None => return Ok(self.registers[0]),
                },
            }
            at = next;
        }
    }

    /// Begin a call that returns to the slot `back`.
    pub(super) fn call(
        &mut self,
        at: usize,
        back: usize,
        turns: Option<Turns>,
    ) -> Result<(), Fault> {
        if self.calls >= MAX_CALLS {
            let reason = "calls too deep";
            return Err(Fault::Illegal { at, reason });
        }
        let [.., r6, r7, r8, r9, _] = self.registers;
        self.saved.push(Saved {
            back,
            registers: [r6, r7, r8, r9],
            calls: self.calls,
            turns,
        });
        self.calls += 1;
        self.enter();
        Ok(())
    }

    /// Return to where the function was called. Return the next slot; `None` at the end of the run.
    fn leave(&mut self, at: usize) -> Result<Option<usize>, Fault> {
        let Some(saved) = self.saved.pop() else {
            if self.reserved.is_empty() {
                return Ok(None);
            }
            let reason = "ends with something reserved";
            return Err(Fault::Illegal { at, reason });
        };
        self.registers[6..10].copy_from_slice(&saved.registers);
        self.calls = saved.calls;
        self.enter();
        match saved.turns {
            None => Ok(Some(saved.back)),
            Some(turns) => self.turned(saved.back, turns).map(Some),
        }
    }
}
