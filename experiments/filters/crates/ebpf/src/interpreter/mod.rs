//! The reference: runs a program instruction by instruction, and checks every access as it is made.
//!
//! It trusts nothing that the verifier says, and shares no code with it beyond the meaning of
//! arithmetic. An accepted program never faults here; the tests hold the verifier to that.

mod helper;
mod memory;
mod step;

use thiserror::Error;

use crate::helpers::MAX_TAIL_CALLS;
use crate::insn::{Reg, Source};
use crate::maps::{self, Maps};
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
    // Every other program may call as deep again.
    let goes_on = !verified.program().continuations().is_empty();
    let programs = if goes_on { 1 + MAX_TAIL_CALLS } else { 1 };
    let depth = MAX_CALLS * programs;
    let mut machine = Machine {
        program: verified.program(),
        verified,
        maps,
        windows,
        context: &context,
        stack: vec![[0u64; FRAME / 8]; depth],
        registers: [0; 11],
        saved: Vec::new(),
        calls: 1,
        gone_on: 0,
        reserved: Vec::new(),
        fuel: u64::from(fuel),
        charged: 0,
        spent: 0,
        turns: (0, 0),
    };
    machine.registers[1] = context.as_ptr() as u64;
    machine.enter();
    let begun = machine.charge(verified.cost());
    let result = begun.and_then(|()| machine.go());
    // SAFETY: the maps are still there.
    unsafe { maps::discard_reserved() };
    Ran {
        result,
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
    /// Each active call but the entry.
    saved: Vec<Saved>,
    /// Calls under way of the running program, and how often the run went on with another.
    calls: usize,
    gone_on: usize,
    /// The reserved records: addresses and bytes.
    reserved: Vec<(u64, u64)>,
    /// The fuel that is left, what was paid of it, and what the executed instructions weigh.
    fuel: u64,
    charged: u64,
    spent: u64,
    /// The last jump backwards that cost nothing, and how often in a row it was taken.
    turns: (usize, u32),
}

/// The state that is restored when a function returns.
struct Saved {
    /// The slot to return to.
    back: usize,
    /// r6…r9.
    registers: [u64; 4],
    calls: usize,
    /// The turns of a loop whose function this is.
    turns: Option<Turns>,
}

/// A loop that calls a function, in a turn.
struct Turns {
    /// The slot that calls.
    at: usize,
    index: u64,
    count: u64,
    context: u64,
}

impl Machine<'_> {
    fn enter(&mut self) {
        self.turns = (0, 0);
        let frame = self.stack[self.saved.len()].as_mut_ptr() as u64;
        self.registers[10] = frame + FRAME as u64;
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
}
