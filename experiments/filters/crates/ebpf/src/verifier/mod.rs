//! The verifier: proves before a program is compiled that no run of it can do harm.
//!
//! It is an abstract interpretation to a fixed point. For each point where paths meet, a [`state`]
//! says what every register and stack slot may hold; states are joined there and, at the heads of
//! loops, widened until nothing changes. A program is accepted only if every instruction is safe in
//! every state in which it may be reached. What holds then, with no check at run time:
//!
//! - every load, store and atomic is inside the memory that its pointer was made for, which is alive;
//!   an atomic is aligned; read-only memory is not written;
//! - nothing is read that was not written: registers, stack bytes;
//! - no address leaves the program: not as its result, not in a map, not as a number;
//! - helpers get what their signatures say, and a result that may be null is looked at first;
//! - the context's windows are read only below an end that was compared with, as XDP programs do;
//! - what is reserved in a queue is submitted or discarded, once, on every path;
//! - at most [`MAX_CALLS`] calls of a program are under way at once, and at most
//!   [`MAX_TAIL_CALLS`](crate::helpers::MAX_TAIL_CALLS) other programs, so that stack use is bounded.
//!
//! The time of a run is bounded by its fuel ([`crate::fuel`]). What a run costs in any case is known
//! before it begins, with all turns of loops that are proved to end soon. Every other jump backwards,
//! and every call of a helper, costs fuel, which the compiled code and the interpreter count.
//!
//! Sources: the kernel's Documentation/bpf/verifier.rst for the rules; Gershuni and others, "Simple
//! and Precise Static Analysis of Untrusted Linux Kernel Extensions" (PLDI 2019) for verifying to a
//! fixed point instead of path by path. Unlike the kernel's, this verifier does not defend against
//! speculative execution.

mod access;
mod arithmetic;
mod branch;
mod bytes;
mod call;
mod callback;
mod cost;
mod facts;
mod far;
mod functions;
mod rejection;
mod reserved;
mod room;
mod scalar;
mod state;
mod tnum;
mod turns;
mod value;
mod walk;

use crate::context::ContextLayout;
use crate::program::{MapKind, Program};

use facts::MapAt;
pub use facts::Touched;
pub use rejection::{MAX_CALLS, MAX_STEPS, Rejection};
pub use state::FRAME;
pub use turns::MAX_TURNS;

/// A program that was accepted, for contexts of one layout.
#[derive(Clone, Debug)]
pub struct Verified {
    program: Program,
    layout: ContextLayout,
    facts: facts::Facts,
    turns: Vec<Option<u32>>,
    costs: cost::Costs,
}

impl Verified {
    /// Prove `program` safe when it is called with contexts of `layout`, or say why it cannot be.
    pub fn new(program: Program, layout: ContextLayout) -> Result<Self, Rejection> {
        let mut walk = walk::Walk::new(&program, &layout);
        walk.run().map_err(|rejection| Rejection {
            place: program.source(rejection.at),
            ..rejection
        })?;
        let facts = walk.facts;
        let mut turns = turns::turns(&program, &facts);
        Ok(Self {
            costs: cost::costs(&program, &facts, &mut turns),
            turns,
            program,
            layout,
            facts,
        })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The layout of the contexts that it may be called with.
    pub fn layout(&self) -> &ContextLayout {
        &self.layout
    }

    /// Return true if any run can reach a slot.
    pub fn reaches(&self, slot: usize) -> bool {
        self.facts.reached[slot]
    }

    /// The memory that the instruction in a slot touches.
    pub fn touched(&self, slot: usize) -> Touched {
        self.facts.touched[slot]
    }

    /// Return true if the conditional jump in a slot is ever taken, and whether it is ever not taken.
    pub fn ways(&self, slot: usize) -> (bool, bool) {
        self.facts.ways[slot]
    }

    /// Return the array in which the call in a slot looks something up, if it always is the same one.
    pub fn array_looked_up(&self, slot: usize) -> Option<usize> {
        cost::array_looked_up(&self.program, &self.facts, slot)
    }

    /// Return true if the lookup in a slot may find nothing.
    pub fn may_miss(&self, slot: usize) -> bool {
        self.facts.may_miss[slot]
    }

    /// Return the fuel that every run costs before it begins.
    pub fn cost(&self) -> u64 {
        self.costs.functions[0]
    }

    /// Return the fuel that the jump backwards in a slot costs, each time; `None` if its loop is paid for.
    pub fn cost_back(&self, slot: usize) -> Option<u64> {
        self.turns[slot].is_none().then(|| self.costs.back[slot])
    }

    /// Return the fuel that the helper's call in a slot costs, without what a register counts.
    pub fn cost_helper(&self, slot: usize) -> u64 {
        self.costs.helper[slot]
    }

    /// Return the fuel that a function costs when a helper calls it or a run goes on with it.
    pub fn cost_function(&self, function: usize) -> u64 {
        self.costs.functions[function]
    }

    /// Return the function that the helper in a slot calls again and again.
    pub fn callback(&self, slot: usize) -> Option<usize> {
        self.facts.callbacks[slot]
    }

    /// Return the map of programs that the call in a slot goes on with.
    pub fn programs_at(&self, slot: usize) -> Option<usize> {
        match self.facts.maps_at[slot] {
            MapAt::One(map) if self.program.maps()[map].kind == MapKind::Programs => Some(map),
            _ => None,
        }
    }

    /// Return the weight of the instruction in a slot, in units of fuel.
    pub fn weight(&self, slot: usize) -> u64 {
        self.costs.weights[slot]
    }

    /// Return how often the jump backwards in a slot can be taken before something else costs fuel, at
    /// most [`MAX_TURNS`]; it then costs none. `None` where that is not proved.
    pub fn turns(&self, slot: usize) -> Option<u32> {
        self.turns[slot]
    }
}
