//! The reference: runs a program instruction by instruction, and checks every access as it is made.
//!
//! It trusts nothing that the verifier says, and shares no code with it beyond the meaning of
//! arithmetic. An accepted program never faults here; the tests hold the verifier to that.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use thiserror::Error;

use crate::calls;
use crate::concrete::{alu, byte_swap, holds, sign_extend};
use crate::helpers::{Argument, Helper};
use crate::insn::{Atomic, Op, Reg, Source};
use crate::maps::Maps;
use crate::program::Program;
use crate::verifier::{FRAME, MAX_CALLS, Verified};

/// The reason why a run ended without a result.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Fault {
    /// The run used up its fuel.
    #[error("out of fuel")]
    OutOfFuel,
    /// An access to memory that the program has no right to.
    #[error("instruction {at}: {bytes} bytes at {address:#x} are not the program's")]
    Memory {
        /// The slot.
        at: usize,
        /// The address.
        address: u64,
        /// The number of bytes.
        bytes: u64,
    },
    /// Something else that no accepted program does.
    #[error("instruction {at}: {reason}")]
    Illegal {
        /// The slot.
        at: usize,
        /// The fault.
        reason: &'static str,
    },
}

/// A run that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// r0, or why there is none.
    pub result: Result<u64, Fault>,
    /// The weight of all that was executed, in units of fuel.
    pub spent: u64,
}

/// Run a program on a context of windows, as [`crate::compile::Compiled::run`] does. Of the proof it
/// takes only what the run and its jumps cost, and holds the program to it.
pub fn run(verified: &Verified, maps: &Maps, windows: &[&[u8]], fuel: u32) -> Ran {
    let context: Vec<u64> = windows
        .iter()
        .map(|window| window.as_ptr_range())
        .flat_map(|range| [range.start as u64, range.end as u64])
        .collect();
    let mut machine = Machine {
        program: verified.program(),
        verified,
        maps,
        windows,
        context: &context,
        stack: vec![[0u64; FRAME / 8]; MAX_CALLS],
        registers: [0; 11],
        saved: Vec::new(),
        fuel: u64::from(fuel),
        charged: 0,
        spent: 0,
        turns: (0, 0),
    };
    machine.registers[1] = context.as_ptr() as u64;
    machine.enter();
    let begun = machine.charge(verified.cost());
    Ran {
        result: begun.and_then(|()| machine.go()),
        spent: machine.spent,
    }
}

struct Machine<'a> {
    verified: &'a Verified,
    program: &'a Program,
    maps: &'a Maps,
    windows: &'a [&'a [u8]],
    context: &'a [u64],
    stack: Vec<[u64; FRAME / 8]>,
    registers: [u64; 11],
    /// The return slot and r6…r9 of each active call but the entry.
    saved: Vec<(usize, [u64; 4])>,
    /// The fuel that is left, what was paid of it, and what the executed instructions weigh.
    fuel: u64,
    charged: u64,
    spent: u64,
    /// The last jump backwards that cost nothing, and how often in a row it was taken.
    turns: (usize, u32),
}

fn inside(start: u64, length: u64, address: u64, bytes: u64) -> bool {
    address >= start && address - start <= length && bytes <= length - (address - start)
}

impl Machine<'_> {
    fn enter(&mut self) {
        self.turns = (0, 0);
        let frame = self.stack[self.saved.len()].as_mut_ptr() as u64;
        self.registers[10] = frame + FRAME as u64;
    }

    fn check(&self, at: usize, address: u64, bytes: u64, write: bool) -> Result<(), Fault> {
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
        if on_stack || in_map || !write && (in_window() || in_context()) {
            return Ok(());
        }
        Err(Fault::Memory { at, address, bytes })
    }

    fn value(&self, source: Source) -> u64 {
        match source {
            Source::Reg(register) => self.registers[usize::from(register)],
            Source::Imm(imm) => i64::from(imm) as u64,
        }
    }

    fn address(&self, base: Reg, offset: i16) -> u64 {
        self.registers[usize::from(base)].wrapping_add(i64::from(offset) as u64)
    }

    fn charge(&mut self, cost: u64) -> Result<(), Fault> {
        self.fuel = self.fuel.checked_sub(cost).ok_or(Fault::OutOfFuel)?;
        self.charged += cost;
        Ok(())
    }

    fn spend(&mut self, at: usize, weight: u64) -> Result<(), Fault> {
        if self.spent + weight > self.charged {
            let reason = "takes longer than was paid for";
            return Err(Fault::Illegal { at, reason });
        }
        self.spent += weight;
        Ok(())
    }

    fn jump(&mut self, at: usize, target: usize) -> Result<usize, Fault> {
        if target > at {
            return Ok(target);
        }
        if let Some(cost) = self.verified.cost_back(at) {
            self.turns = (0, 0);
            self.charge(cost)?;
            return Ok(target);
        }
        let most = self.verified.turns(at).unwrap_or(0);
        let (last, count) = self.turns;
        self.turns = (at, if last == at { count + 1 } else { 1 });
        if self.turns.1 > most {
            let reason = "takes more turns than were proved";
            return Err(Fault::Illegal { at, reason });
        }
        Ok(target)
    }

    fn go(&mut self) -> Result<u64, Fault> {
        let mut at = 0;
        loop {
            let mut next = at + 1;
            let illegal = |reason| Fault::Illegal { at, reason };
            let op = *self
                .program
                .ops()
                .get(at)
                .ok_or_else(|| illegal("is not there"))?;
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
                    if holds(
                        wide,
                        cond,
                        self.registers[usize::from(dst)],
                        self.value(src),
                    ) {
                        next = self.jump(at, target)?;
                    }
                }
                Op::Helper { number } => self.helper(at, number)?,
                Op::Call { target } => {
                    if self.saved.len() + 1 >= MAX_CALLS {
                        return Err(illegal("calls too deep"));
                    }
                    let [.., r6, r7, r8, r9, _] = self.registers;
                    self.saved.push((next, [r6, r7, r8, r9]));
                    self.enter();
                    next = target;
                }
                Op::Exit => {
                    let Some((back, saved)) = self.saved.pop() else {
                        return Ok(self.registers[0]);
                    };
                    self.registers[6..10].copy_from_slice(&saved);
                    self.enter();
                    next = back;
                }
            }
            at = next;
        }
    }

    fn atomic(
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

    fn helper(&mut self, at: usize, number: u32) -> Result<(), Fault> {
        let illegal = |reason| Fault::Illegal { at, reason };
        let helper = Helper::by_number(number).ok_or_else(|| illegal("calls no helper"))?;
        let [_, r1, r2, r3, r4, r5, ..] = self.registers;
        let given = [r1, r2, r3, r4, r5];
        let size = helper
            .size_register()
            .map_or(0, |register| given[usize::from(register) - 1]);
        let mut map = None;
        for (index, argument) in helper.arguments().into_iter().enumerate() {
            let is_map = |map: &&crate::maps::Map| std::ptr::from_ref(*map) as u64 == given[index];
            match argument {
                Argument::Map | Argument::WritableMap | Argument::Events => {
                    map = self.maps.all().iter().find(is_map);
                    map.ok_or_else(|| illegal("passes no map"))?;
                }
                Argument::Key | Argument::Value => {
                    let spec = map.ok_or_else(|| illegal("passes no map"))?.spec();
                    let bytes = if argument == Argument::Key {
                        spec.key_size
                    } else {
                        spec.value_size
                    };
                    self.check(at, given[index], bytes.into(), false)?;
                }
                Argument::Memory | Argument::AsMuch => self.check(at, given[index], size, false)?,
                Argument::Unused
                | Argument::Number
                | Argument::Context
                | Argument::Size
                | Argument::SizeOrZero => {}
            }
        }
        if self.verified.array_looked_up(at).is_none() {
            let cost = self.verified.cost_helper(at) + size;
            self.charge(cost)?;
            self.spend(at, cost)?;
        }
        // SAFETY: the arguments were checked just above.
        self.registers[0] = unsafe { calls::function(helper)(r1, r2, r3, r4, r5) };
        Ok(())
    }
}
