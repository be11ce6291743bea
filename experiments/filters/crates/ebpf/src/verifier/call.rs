//! Calls of helpers: that they get what their signatures say.

use super::rejection::{Rejection, reject};
use super::scalar::Scalar;
use super::state::State;
use super::value::{Pointer, Region, Value};
use super::walk::Walk;
use crate::helpers::{Argument, Helper, MAX_MEMORY, Returns};
use crate::insn::Reg;
use crate::planted::{Fault, planted};
use crate::program::{MapKind, MapSpec};

/// The facts about the arguments of a call.
#[derive(Default)]
pub(super) struct Given {
    /// The map, or one of the shape of those that it may be.
    map: usize,
    /// The greatest key, if keys have 4 bytes.
    key: Option<u64>,
    /// The size.
    size: u64,
}

impl Walk<'_> {
    pub(super) fn helper(
        &mut self,
        at: usize,
        state: &mut State,
        number: u32,
    ) -> Result<(), Rejection> {
        let helper = Helper::by_number(number)
            .ok_or_else(|| reject(at, &format!("there is no helper {number}")))?;
        let given = self.arguments(at, state, helper)?;
        for register in 1..=5 {
            state.set(register, Value::Unusable);
        }
        let result = match helper.returns() {
            Returns::Number => Value::scalar(Scalar::UNKNOWN),
            Returns::Nothing => Value::Unusable,
            Returns::ReservedOrNull => self.reserve(at, state, given.size)?,
            Returns::ValueOrNull => {
                let mut pointer = self.looked_up(&given);
                self.facts.may_miss[at] |= pointer.nullable;
                pointer.link = Self::fresh(at, state);
                Value::Pointer(pointer)
            }
        };
        state.set(0, result);
        Ok(())
    }

    /// Check the arguments of a helper.
    pub(super) fn arguments(
        &mut self,
        at: usize,
        state: &mut State,
        helper: Helper,
    ) -> Result<Given, Rejection> {
        let mut given = Given::default();
        // Memories whose size comes later.
        let mut memories = Vec::new();
        for (register, argument) in (1..).zip(helper.arguments()) {
            match argument {
                // The walk looks at functions and what they are passed by itself.
                Argument::Unused | Argument::Callback | Argument::StackOrNull => {}
                Argument::Memory => memories.push(register),
                Argument::Number => {
                    self.number(at, state, register)?;
                }
                Argument::Context => match state.get(register) {
                    Value::Pointer(p) if p.region == Region::Context && p.at() == Some(0) => {}
                    _ => return Err(reject(at, &format!("r{register} is not the context"))),
                },
                Argument::AnyMap
                | Argument::WritableMap
                | Argument::Events
                | Argument::Programs => {
                    given.map = self.map_argument(at, state, register, argument)?;
                }
                Argument::Key | Argument::Value => {
                    // A signature names the map before its keys and values.
                    let spec = &self.program.maps()[given.map];
                    let bytes = if argument == Argument::Key {
                        spec.key_size
                    } else {
                        spec.value_size
                    };
                    self.facts.touches(at, state, register, 0, bytes.into());
                    self.readable(at, state, register, u64::from(bytes))?;
                    if argument == Argument::Key && bytes == 4 {
                        given.key = Some(self.greatest_key(state, register));
                    }
                }
                Argument::AsMuch => self.memory(at, state, register, given.size)?,
                Argument::Size | Argument::SizeOrZero => {
                    let zero = argument == Argument::SizeOrZero;
                    given.size = self.size(at, state, register, zero)?;
                    for memory in memories.drain(..) {
                        self.memory(at, state, memory, given.size)?;
                    }
                }
                Argument::KnownSize => {
                    given.size = self.size(at, state, register, true)?;
                    if self.number(at, state, register)?.known().is_none() {
                        let reason = format!("r{register}, a size, is not the same on every path");
                        return Err(reject(at, &reason));
                    }
                }
                Argument::Reserved => self.finish(at, state, register)?,
            }
        }
        Ok(given)
    }

    /// The result of a lookup, but for its link.
    fn looked_up(&self, given: &Given) -> Pointer {
        let spec = &self.program.maps()[given.map];
        let region = if spec.kind.names_maps() {
            Region::Inner(given.map)
        } else {
            Region::MapValue(given.map)
        };
        let mut pointer = Pointer::new(region, 0, spec.value_size.into());
        // An array has every entry below its size.
        let array = matches!(spec.kind, MapKind::Array | MapKind::PerCpuArray);
        let more = u64::from(planted(Fault::ConstantKeyOneMore));
        let there = given
            .key
            .is_some_and(|key| key < u64::from(spec.max_entries) + more);
        pointer.nullable = !(array && there || planted(Fault::LookupAlwaysFinds));
        pointer
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

    /// Check a map. Return its number, or that of one of its shape.
    fn map_argument(
        &mut self,
        at: usize,
        state: &State,
        register: Reg,
        argument: Argument,
    ) -> Result<usize, Rejection> {
        let maps = self.program.maps();
        let map = match state.get(register) {
            Value::Map(map) => {
                self.facts.uses_map(at, map);
                map
            }
            Value::Pointer(pointer) if matches!(pointer.region, Region::Inner(_)) => {
                self.address(at, state, register)?;
                self.facts.uses_some_map(at);
                match pointer.region {
                    // A declaration has one choice at least.
                    Region::Inner(outer) => maps[outer].choices[0],
                    _ => 0,
                }
            }
            _ => {
                let reason = format!("r{register} is not a map, the same on every path");
                return Err(reject(at, &reason));
            }
        };
        match unfit(argument, &maps[map]) {
            None => Ok(map),
            Some(reason) => Err(reject(at, &format!("{} is {reason}", maps[map].name))),
        }
    }
}

/// Return why a map is not what an argument asks for.
fn unfit(argument: Argument, spec: &MapSpec) -> Option<&'static str> {
    match (argument, spec.kind) {
        (Argument::Events, MapKind::Events) | (Argument::Programs, MapKind::Programs) => None,
        (Argument::Events, _) => Some("no queue of events"),
        (Argument::Programs, _) => Some("no map of programs"),
        (_, MapKind::Events) => Some("a queue of events, without keys"),
        (_, MapKind::Programs) => Some("a map of programs, only for tail calls"),
        (Argument::WritableMap, kind) if kind.names() => Some("a map of maps, which is read-only"),
        (Argument::WritableMap, _) if spec.read_only => Some("read-only"),
        _ => None,
    }
}
