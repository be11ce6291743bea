//! Calls of helpers: that they get what their signatures say.

use super::rejection::{Rejection, reject};
use super::scalar::Scalar;
use super::state::State;
use super::value::{Pointer, Region, Value};
use super::walk::Walk;
use crate::helpers::{Argument, Helper, MAX_MEMORY, Returns};
use crate::insn::Reg;
use crate::program::MapKind;

impl Walk<'_> {
    pub(super) fn helper(
        &mut self,
        at: usize,
        state: &mut State,
        number: u32,
    ) -> Result<(), Rejection> {
        let helper = Helper::by_number(number)
            .ok_or_else(|| reject(at, &format!("there is no helper {number}")))?;
        let arguments = helper.arguments();
        let mut map = None;
        let mut key = None;
        // Memories whose size comes later, and the last size.
        let mut memories = Vec::new();
        let mut size = 0;
        for (register, argument) in (1..).zip(arguments) {
            match argument {
                Argument::Unused => {}
                Argument::Memory => memories.push(register),
                Argument::Number => {
                    self.number(at, state, register)?;
                }
                Argument::Context => match state.get(register) {
                    Value::Pointer(p) if p.region == Region::Context && p.at() == Some(0) => {}
                    _ => return Err(reject(at, &format!("r{register} is not the context"))),
                },
                Argument::Map | Argument::WritableMap | Argument::Events => {
                    map = Some(self.map_argument(at, state, register, argument)?);
                }
                Argument::Key | Argument::Value => {
                    // A signature names the map before its keys and values.
                    let spec = &self.program.maps()[map.unwrap_or(0)];
                    let bytes = if argument == Argument::Key {
                        spec.key_size
                    } else {
                        spec.value_size
                    };
                    self.facts.touches(at, state, register, 0, bytes.into());
                    self.readable(at, state, register, u64::from(bytes))?;
                    if argument == Argument::Key && bytes == 4 {
                        key = self.known_key(state, register);
                    }
                }
                Argument::AsMuch => self.memory(at, state, register, size)?,
                Argument::Size | Argument::SizeOrZero => {
                    let zero = argument == Argument::SizeOrZero;
                    size = self.size(at, state, register, zero)?;
                    for memory in memories.drain(..) {
                        self.memory(at, state, memory, size)?;
                    }
                }
            }
        }
        if let Some(map) = map {
            self.facts.uses_map(at, map);
        }
        for register in 1..=5 {
            state.set(register, Value::Unusable);
        }
        let result = match helper.returns() {
            Returns::Number => Value::scalar(Scalar::UNKNOWN),
            Returns::ValueOrNull => {
                let map = map.unwrap_or(0);
                let size = i64::from(self.program.maps()[map].value_size);
                let mut pointer = Pointer::new(Region::MapValue(map), 0, size);
                // An array has every entry below its size.
                let spec = &self.program.maps()[map];
                let there = key.is_some_and(|key| key < spec.max_entries);
                pointer.nullable = !(there && spec.kind == MapKind::Array);
                pointer.link = Self::fresh(at, state);
                Value::Pointer(pointer)
            }
        };
        state.set(0, result);
        Ok(())
    }

    /// Check a size. Return the largest that it may be.
    fn size(&self, at: usize, state: &State, register: Reg, zero: bool) -> Result<u64, Rejection> {
        let size = self.number(at, state, register)?;
        if size.umax > MAX_MEMORY {
            let reason =
                format!("r{register}, a size, may be more than {MAX_MEMORY}; bound it first");
            return Err(reject(at, &reason));
        }
        if size.umin == 0 && !zero {
            let reason = format!("r{register}, a size, may be 0; compare it with 0 first");
            return Err(reject(at, &reason));
        }
        Ok(size.umax)
    }

    fn memory(
        &mut self,
        at: usize,
        state: &State,
        register: Reg,
        bytes: u64,
    ) -> Result<(), Rejection> {
        self.facts.touches(at, state, register, 0, bytes);
        self.readable(at, state, register, bytes)
    }

    fn map_argument(
        &self,
        at: usize,
        state: &State,
        register: Reg,
        argument: Argument,
    ) -> Result<usize, Rejection> {
        let Value::Map(map) = state.get(register) else {
            return Err(reject(
                at,
                &format!("r{register} is not a map, the same on every path"),
            ));
        };
        let spec = &self.program.maps()[map];
        let reason = match (argument, spec.kind) {
            (Argument::Events, MapKind::Events) => return Ok(map),
            (Argument::Events, _) => "no queue of events",
            (_, MapKind::Events) => "a queue of events, without keys",
            (Argument::WritableMap, _) if spec.read_only => "read-only",
            _ => return Ok(map),
        };
        Err(reject(at, &format!("{} is {reason}", spec.name)))
    }
}
