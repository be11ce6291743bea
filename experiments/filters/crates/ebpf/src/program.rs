//! A program and what it uses: operations cut into functions, and the maps they name.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::call_graph;
use crate::declaration;
use crate::insn::{DecodeError, Op, Raw, decode};
use crate::sources::Sources;

pub use crate::call_graph::Function;
pub use crate::map_spec::{MAX_KEY, MapKind, MapSpec};

/// The longest program, in instruction slots.
pub const MAX_SLOTS: usize = 65_536;

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
        declaration::check(&maps, slots.len())
            .map_err(|(name, reason)| ProgramError::Map { name, reason })?;
        let ops = decode(slots)?;
        let functions = functions(&ops, &maps);
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

    /// The programs that maps may name, by their functions.
    pub fn continuations(&self) -> BTreeSet<usize> {
        let programs = self.maps.iter().filter(|map| map.kind == MapKind::Programs);
        let starts = programs.flat_map(|map| &map.choices);
        starts
            .filter_map(|&start| self.function_at(start))
            .collect()
    }

    /// The functions that are referred to, as callbacks.
    pub fn callbacks(&self) -> BTreeSet<usize> {
        let referred = self.ops.iter().filter_map(|op| match op {
            Op::LoadFunction { target, .. } => self.function_at(*target),
            _ => None,
        });
        referred.collect()
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

/// Cut the program where calls, references and other programs' maps lead.
fn functions(ops: &[Op], maps: &[MapSpec]) -> Vec<Function> {
    let referred = ops.iter().filter_map(|op| match op {
        Op::Call { target } | Op::LoadFunction { target, .. } => Some(*target),
        _ => None,
    });
    let programs = maps.iter().filter(|map| map.kind == MapKind::Programs);
    let programs = programs.flat_map(|map| map.choices.iter().copied());
    let mut starts: Vec<usize> = referred.chain(programs).chain([0]).collect();
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([ops.len()]);
    let pairs = starts.iter().zip(ends);
    pairs.map(|(&start, end)| Function { start, end }).collect()
}
