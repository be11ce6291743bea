//! A program and what it uses: operations cut into functions, and the maps they name.

use thiserror::Error;

use crate::call_graph;
use crate::insn::{DecodeError, Op, Raw, decode};
use crate::sources::Sources;

pub use crate::call_graph::Function;

/// The longest program, in instruction slots.
pub const MAX_SLOTS: usize = 65_536;

/// The longest key of a map, in bytes.
pub const MAX_KEY: usize = 512;

/// The kind of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Values by hashed key.
    Hash,
    /// Values by index.
    Array,
    /// A queue of records from programs to a controller (`RINGBUF`, `PERF_EVENT_ARRAY`).
    Events,
}

/// A map as a program declares it; sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapSpec {
    /// Its name in the object file.
    pub name: String,
    /// Its kind.
    pub kind: MapKind,
    /// Bytes of a key; 4 for an array, 0 for events.
    pub key_size: u32,
    /// Bytes of a value; 0 for events.
    pub value_size: u32,
    /// The largest number of entries; for events, the bytes of the queue.
    pub max_entries: u32,
    /// True if programs may only read its values.
    pub read_only: bool,
    /// The start of its first value: the contents of a data section.
    pub initial: Vec<u8>,
}

/// A decoded program; its first function is its entry.
#[derive(Clone, Debug)]
pub struct Program {
    ops: Vec<Op>,
    functions: Vec<Function>,
    maps: Vec<MapSpec>,
    callees_first: Vec<usize>,
    sources: Sources,
}

/// The reason why instructions and maps are not a program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProgramError {
    /// An instruction that is none.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// No instructions, or too many.
    #[error("the program has {0} instruction slots; expected 1 to {MAX_SLOTS}")]
    Length(usize),
    /// A jump from one function into another.
    #[error("instruction {0}: jumps into another function; only calls may")]
    Crossing(usize),
    /// A function that runs on into what follows it.
    #[error("instruction {0}: the function ends with neither an exit nor a jump")]
    Falling(usize),
    /// A function that calls itself, or functions that call each other in a circle.
    #[error("instruction {0}: the function calls itself, directly or through others; use a loop")]
    Recursion(usize),
    /// A reference to a map that is not there.
    #[error("instruction {0}: names a map that the program does not declare")]
    NoSuchMap(usize),
    /// A map whose declaration makes no sense.
    #[error("map {name:?}: {reason}")]
    Map {
        /// The map's name.
        name: String,
        /// The fault.
        reason: &'static str,
    },
}

impl Program {
    /// Decode `slots` and checks everything that does not depend on values.
    pub fn new(slots: &[Raw], maps: Vec<MapSpec>) -> Result<Self, ProgramError> {
        if slots.is_empty() || slots.len() > MAX_SLOTS {
            return Err(ProgramError::Length(slots.len()));
        }
        for map in &maps {
            check_map(map)?;
        }
        let ops = decode(slots)?;
        let functions = functions(&ops);
        let callees_first =
            call_graph::callees_first(&ops, &functions).map_err(ProgramError::Recursion)?;
        let program = Self {
            ops,
            functions,
            maps,
            callees_first,
            sources: Sources::default(),
        };
        program.check()?;
        Ok(program)
    }

    /// The same program, which knows where its instructions come from.
    pub(crate) fn with_sources(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }

    /// Return file, line and function of a slot, if the object file says them.
    pub fn source(&self, slot: usize) -> Option<String> {
        self.sources.of(slot)
    }

    /// The operations, one a slot.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The functions in the order of their slots.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The function that begins at `start`.
    pub fn function_at(&self, start: usize) -> Option<usize> {
        self.functions
            .binary_search_by_key(&start, |function| function.start)
            .ok()
    }

    /// The functions by number, each after all that it calls.
    pub fn callees_first(&self) -> &[usize] {
        &self.callees_first
    }

    /// The maps by their number in [`Op::LoadMap`].
    pub fn maps(&self) -> &[MapSpec] {
        &self.maps
    }

    fn check(&self) -> Result<(), ProgramError> {
        for function in &self.functions {
            for at in function.start..function.end {
                match self.ops[at] {
                    Op::Jump { target } | Op::Branch { target, .. }
                        if !(function.start..function.end).contains(&target) =>
                    {
                        return Err(ProgramError::Crossing(at));
                    }
                    Op::LoadMap { map, .. } | Op::LoadMapValue { map, .. }
                        if map as usize >= self.maps.len() =>
                    {
                        return Err(ProgramError::NoSuchMap(at));
                    }
                    _ => {}
                }
            }
            let last = function.end - 1;
            if !matches!(self.ops[last], Op::Exit | Op::Jump { .. }) {
                return Err(ProgramError::Falling(last));
            }
        }
        Ok(())
    }
}

fn functions(ops: &[Op]) -> Vec<Function> {
    let mut starts: Vec<usize> = ops
        .iter()
        .filter_map(|op| match op {
            Op::Call { target } => Some(*target),
            _ => None,
        })
        .chain([0])
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([ops.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| Function { start, end })
        .collect()
}

/// Sizes stay so small that no product of them overflows, and that a map can be had at all.
fn check_map(map: &MapSpec) -> Result<(), ProgramError> {
    const LARGEST: u64 = 1 << 30;
    let entry = u64::from(map.key_size) + u64::from(map.value_size) + 64;
    let reason = match map.kind {
        _ if map.max_entries == 0 => "max_entries is 0",
        MapKind::Array if map.key_size != 4 => "the key of an array has 4 bytes",
        MapKind::Array | MapKind::Hash if map.value_size == 0 => "a value has no bytes",
        MapKind::Hash if !(1..=MAX_KEY as u32).contains(&map.key_size) => {
            "a key has 1 to 512 bytes"
        }
        MapKind::Events if !map.max_entries.is_power_of_two() || map.max_entries < 4096 => {
            "a queue of events has a power of two of bytes, 4096 at least"
        }
        MapKind::Events if map.key_size != 0 || map.value_size != 0 => {
            "a queue of events has neither keys nor values"
        }
        _ if entry * u64::from(map.max_entries) > LARGEST => "it takes more than 1 GiB",
        _ if map.initial.len() > map.value_size as usize => "its contents exceed its value",
        _ => return Ok(()),
    };
    Err(ProgramError::Map {
        name: map.name.clone(),
        reason,
    })
}
