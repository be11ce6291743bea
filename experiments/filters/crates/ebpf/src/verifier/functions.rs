//! Calls of the program's own functions, its end, and going on with another program.

use super::facts::MapAt;
use super::rejection::{MAX_CALLS, Rejection, reject};
use super::scalar::Scalar;
use super::state::{Frame, State};
use super::value::{Region, Value};
use super::walk::{Next, Walk};
use crate::helpers::Helper;

impl Walk<'_> {
    pub(super) fn call(
        &mut self,
        at: usize,
        mut state: State,
        target: usize,
    ) -> Result<Option<State>, Rejection> {
        self.enter(at, &mut state)?;
        // Every target of a call begins a function.
        let number = self.program.function_at(target).unwrap_or(0);
        let mut left = self.function(number, state)?;
        if let Some(state) = &mut left {
            leave(state);
        }
        Ok(left)
    }

    /// Begin a call: r1…r5 are the function's arguments.
    pub(super) fn enter(&self, at: usize, state: &mut State) -> Result<(), Rejection> {
        if state.frames.len() >= MAX_CALLS {
            let reason =
                format!("calls go deeper than {MAX_CALLS}; call fewer functions in functions");
            return Err(reject(at, &reason));
        }
        let saved = std::array::from_fn(|n| state.get(n as u8 + 6));
        state.frames.push(Frame::new(saved));
        for register in [0, 6, 7, 8, 9] {
            state.set(register, Value::Unusable);
        }
        Ok(())
    }

    pub(super) fn exit(&self, at: usize, state: &State) -> Result<(), Rejection> {
        if state.frames.len() > 1 {
            return Ok(());
        }
        self.none_reserved(at, state)?;
        if matches!(state.get(0), Value::Scalar(..)) {
            return Ok(());
        }
        Err(reject(
            at,
            "r0, the result, holds no number: it was not written, or is an address",
        ))
    }

    /// Go on with another program, whose result is the function's, or with what follows.
    pub(super) fn tail_call(&mut self, at: usize, mut state: State) -> Result<Next, Rejection> {
        self.none_reserved(at, &state)?;
        self.arguments(at, &mut state, Helper::TailCall)?;
        if self.facts.maps_at[at] == MapAt::Many {
            return Err(reject(
                at,
                "goes on with programs of one map or another; call it once for each",
            ));
        }
        for register in 0..=5 {
            state.set(register, Value::Unusable);
        }
        state.set(0, Value::scalar(Scalar::UNKNOWN));
        Ok(Next::Ended(Box::new(state.clone()), state))
    }
}

/// End a call: its frame is gone, and with it every address in it.
pub fn leave(state: &mut State) {
    let depth = state.frames.len() - 1;
    if let Some(frame) = state.frames.pop() {
        for (n, value) in frame.saved.into_iter().enumerate() {
            state.set(n as u8 + 6, value);
        }
    }
    for register in 1..=5 {
        state.set(register, Value::Unusable);
    }
    state.forget(Region::Stack(depth));
}
