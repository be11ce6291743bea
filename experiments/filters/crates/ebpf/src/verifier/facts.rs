//! The proven facts of single instructions, over every state in which each may be reached.

use super::state::{FRAME, State};
use super::value::{Region, Value};
use crate::insn::Reg;

/// The map that a helper's call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapAt {
    /// No map so far.
    None,
    /// Always this one.
    One(usize),
    /// It depends.
    Many,
}

/// The memory that an instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// No memory so far.
    None,
    /// The context's field at this offset, always the same.
    Context(usize),
    /// A window.
    Window,
    /// A map or a window.
    Elsewhere,
    /// Bytes of its own function's frame, from the lowest address on.
    Own {
        /// The first.
        start: usize,
        /// The one after the last.
        end: usize,
        /// True if it is all of them, each time.
        exact: bool,
    },
    /// Another function's frame, or it depends.
    Foreign,
}

impl Touched {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, one) | (one, Self::None) => one,
            (a, b) if a == b => a,
            (Self::Window, Self::Elsewhere) | (Self::Elsewhere, Self::Window) => Self::Elsewhere,
            (
                Self::Own { start, end, .. },
                Self::Own {
                    start: first,
                    end: last,
                    ..
                },
            ) => Self::Own {
                start: start.min(first),
                end: end.max(last),
                exact: false,
            },
            _ => Self::Foreign,
        }
    }
}

/// The least and the greatest number in each register, r0…r9; `None` where it holds none.
pub type Ranges = [Option<(u64, u64)>; 10];

/// The proven facts of each slot.
#[derive(Clone, Debug)]
pub struct Facts {
    /// True if any run can reach it.
    pub reached: Vec<bool>,
    /// The map that its helper uses.
    pub maps_at: Vec<MapAt>,
    /// True if its lookup may find nothing.
    pub may_miss: Vec<bool>,
    /// The function that its helper calls.
    pub callbacks: Vec<Option<usize>>,
    /// The memory that it touches.
    pub touched: Vec<Touched>,
    /// For a conditional jump: true if it is ever taken, and true if it is ever not taken.
    pub ways: Vec<(bool, bool)>,
    /// The ranges of registers when its jump is taken backwards.
    pub backwards: Vec<Option<Ranges>>,
}

impl Facts {
    /// Of a program of so many slots that was not looked at yet.
    pub fn new(slots: usize) -> Self {
        Self {
            reached: vec![false; slots],
            maps_at: vec![MapAt::None; slots],
            may_miss: vec![false; slots],
            callbacks: vec![None; slots],
            touched: vec![Touched::None; slots],
            ways: vec![(false, false); slots],
            backwards: vec![None; slots],
        }
    }

    /// The instruction uses a map.
    pub fn uses_map(&mut self, at: usize, map: usize) {
        self.maps_at[at] = match self.maps_at[at] {
            MapAt::None => MapAt::One(map),
            MapAt::One(known) if known == map => MapAt::One(map),
            _ => MapAt::Many,
        };
    }

    /// The instruction uses a map that is known at run time only.
    pub fn uses_some_map(&mut self, at: usize) {
        self.maps_at[at] = MapAt::Many;
    }

    /// The instruction has a helper call a function. Return false if it was another one before.
    pub fn calls_back(&mut self, at: usize, function: usize) -> bool {
        *self.callbacks[at].get_or_insert(function) == function
    }

    /// The instruction touches `bytes` bytes, `offset` bytes after the address in `base`.
    pub fn touches(&mut self, at: usize, state: &State, base: Reg, offset: i16, bytes: u64) {
        let found = match state.get(base) {
            Value::Pointer(pointer) => match pointer.region {
                Region::Stack(depth) if depth + 1 == state.frames.len() => {
                    let start = pointer.from_start + i64::from(offset);
                    let end = FRAME as i64 - pointer.to_end + i64::from(offset) + bytes as i64;
                    // The caller's check rejects accesses outside the frame.
                    Touched::Own {
                        start: start.clamp(0, FRAME as i64) as usize,
                        end: end.clamp(0, FRAME as i64) as usize,
                        exact: pointer.at().is_some(),
                    }
                }
                Region::Stack(_) => Touched::Foreign,
                // A field is read at a known place, or the caller's check rejects the program.
                Region::Context => {
                    Touched::Context((pointer.from_start + i64::from(offset)) as usize)
                }
                Region::Window(_) => Touched::Window,
                _ => Touched::Elsewhere,
            },
            _ => Touched::Elsewhere,
        };
        self.touched[at] = self.touched[at].join(found);
    }

    /// The jump is taken backwards in this state.
    pub fn jumps_back(&mut self, at: usize, state: &State) {
        let now: Ranges = std::array::from_fn(|register| match state.get(register as Reg) {
            Value::Scalar(scalar, _) => Some((scalar.umin, scalar.umax)),
            _ => None,
        });
        self.backwards[at] = Some(match self.backwards[at] {
            None => now,
            Some(known) => std::array::from_fn(|register| {
                let ((low, high), (least, most)) = (known[register]?, now[register]?);
                Some((low.min(least), high.max(most)))
            }),
        });
    }
}
