//! Calls of helpers: that they get what is the program's, and what the interpreter does by itself.

use super::{Fault, Machine, Turns};
use crate::calls;
use crate::fuel;
use crate::helpers::{Argument, Helper, MAX_TAIL_CALLS, MAX_TURNS};
use crate::maps::{Map, MapError};

impl Machine<'_> {
    /// Call a helper. Return the next slot.
    pub(super) fn helper(&mut self, at: usize, number: u32) -> Result<usize, Fault> {
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
                Argument::AnyMap
                | Argument::WritableMap
                | Argument::Events
                | Argument::Programs => {
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
                Argument::Reserved => {
                    let known = |&(start, _): &(u64, u64)| start == given[index];
                    let place = self.reserved.iter().position(known);
                    let place = place.ok_or_else(|| illegal("passes nothing reserved"))?;
                    self.reserved.remove(place);
                }
                Argument::Unused
                | Argument::Number
                | Argument::Context
                | Argument::Callback
                | Argument::StackOrNull
                | Argument::KnownSize
                | Argument::Size
                | Argument::SizeOrZero => {}
            }
        }
        if self.verified.array_looked_up(at).is_none() {
            let cost = self.verified.cost_helper(at) + size;
            self.charge(cost)?;
            self.spend(at, cost)?;
        }
        let next = at + 1;
        match helper {
            Helper::TailCall => return self.tail_call(at, map),
            Helper::Loop => return self.repeat(at, next),
            _ => {}
        }
        let function = calls::function(helper).ok_or_else(|| illegal("calls no helper"))?;
        // SAFETY: the arguments were checked above.
        self.registers[0] = unsafe { function(r1, r2, r3, r4, r5) };
        if helper == Helper::RingbufReserve && self.registers[0] != 0 {
            self.reserved.push((self.registers[0], r2));
        }
        Ok(next)
    }

    /// Go on with another program in this function's place, if there is one and it may.
    fn tail_call(&mut self, at: usize, map: Option<&Map>) -> Result<usize, Fault> {
        let failed = -(MapError::NoEntry as i64) as u64;
        let index = (self.registers[3] as u32).to_le_bytes();
        let may = self.gone_on < MAX_TAIL_CALLS;
        let named = map.filter(|_| may).and_then(|map| {
            let start = map.spec().choices.get(map.choice(&index)?)?;
            self.program.function_at(*start)
        });
        let Some(function) = named else {
            self.registers[0] = failed;
            return Ok(at + 1);
        };
        self.charge(self.verified.cost_function(function))?;
        self.gone_on += 1;
        self.calls = 1;
        self.enter();
        Ok(self.program.functions()[function].start)
    }

    /// Begin `bpf_loop`.
    fn repeat(&mut self, at: usize, next: usize) -> Result<usize, Fault> {
        let [_, count, _, context, flags, ..] = self.registers;
        let count = u64::from(count as u32);
        let failed = match (count, flags) {
            (MAX_TURNS.., _) if count > MAX_TURNS => Some(MapError::TooBig),
            (_, 1..) => Some(MapError::Invalid),
            _ => None,
        };
        if let Some(error) = failed {
            self.registers[0] = -(error as i64) as u64;
            return Ok(next);
        }
        let index = 0;
        self.turn(
            next,
            Turns {
                at,
                index,
                count,
                context,
            },
        )
    }

    /// The function returned: go on with the next turn, or after the loop.
    pub(super) fn turned(&mut self, back: usize, turns: Turns) -> Result<usize, Fault> {
        let index = turns.index + 1;
        let count = if self.registers[0] == 0 {
            turns.count
        } else {
            index
        };
        self.turn(
            back,
            Turns {
                index,
                count,
                ..turns
            },
        )
    }

    /// Make a turn, or return to `back`.
    fn turn(&mut self, back: usize, turns: Turns) -> Result<usize, Fault> {
        if turns.index >= turns.count {
            self.registers[0] = turns.index;
            return Ok(back);
        }
        let at = turns.at;
        let reason = "has no function called";
        let function = self
            .verified
            .callback(at)
            .ok_or(Fault::Illegal { at, reason })?;
        self.charge(self.verified.cost_function(function) + fuel::TURN)?;
        self.spend(at, fuel::TURN)?;
        self.registers[1] = turns.index;
        self.registers[2] = turns.context;
        self.call(at, back, Some(turns))?;
        Ok(self.program.functions()[function].start)
    }
}
