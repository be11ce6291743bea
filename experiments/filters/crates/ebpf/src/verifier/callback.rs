//! Functions that a helper calls again and again.

use super::functions::leave;
use super::rejection::{Rejection, reject};
use super::scalar::Scalar;
use super::state::State;
use super::value::{Link, Region, Value};
use super::walk::{JOINS, Walk};
use crate::helpers::{Helper, MAX_TURNS};
use crate::planted::{Fault, planted};

impl Walk<'_> {
    /// Verify `bpf_loop`: its function for every state in which a turn may begin, to a fixed point. Return the
    /// state after it, which is that of a turn that is not made.
    pub(super) fn repeat(&mut self, at: usize, mut state: State) -> Result<State, Rejection> {
        let count = self.number(at, &state, 1)?.low32();
        let flags = self.number(at, &state, 4)?;
        self.arguments(at, &mut state, Helper::Loop)?;
        let Value::Function(function) = state.get(2) else {
            return Err(reject(at, "r2 is no function, the same on every path"));
        };
        if !self.facts.calls_back(at, function) {
            return Err(reject(
                at,
                "has one function or another called; call the helper once for each",
            ));
        }
        let context = self.callback_context(at, &state)?;
        for register in 0..=5 {
            state.set(register, Value::Unusable);
        }
        state.normalise();
        let most = count.umax.min(MAX_TURNS);
        let mut joins = 0;
        loop {
            let mut turn = state.clone();
            self.enter(at, &mut turn)?;
            turn.set(1, Value::scalar(Scalar::range(0, most.saturating_sub(1))));
            turn.set(2, context);
            let Some(mut left) = self.function(function, turn)? else {
                break;
            };
            if !matches!(left.get(0), Value::Scalar(..)) {
                return Err(reject(at, "the function that is called returns no number"));
            }
            if left.reserved != state.reserved {
                return Err(reject(
                    at,
                    "the function that is called keeps what it reserves, or finishes what others did",
                ));
            }
            leave(&mut left);
            left.set(0, Value::Unusable);
            let widen = (joins >= JOINS).then_some(&self.thresholds[..]);
            let joined = state.join(&left, widen);
            if joined == state || planted(Fault::FirstTurnOnly) {
                break;
            }
            state = joined;
            joins += 1;
        }
        let ends = count.umax <= MAX_TURNS && flags.known() == Some(0);
        let result = if ends {
            Scalar::range(0, most)
        } else {
            // An error.
            Scalar::UNKNOWN
        };
        state.set(0, Value::scalar(result));
        Ok(state)
    }

    /// The value that the function gets as its second argument.
    fn callback_context(&self, at: usize, state: &State) -> Result<Value, Rejection> {
        match state.get(3) {
            Value::Pointer(mut pointer)
                if matches!(pointer.region, Region::Stack(_)) && !pointer.nullable =>
            {
                (pointer.link, pointer.index) = (Link::default(), Link::default());
                Ok(Value::Pointer(pointer))
            }
            Value::Scalar(scalar, _) if scalar.known() == Some(0) => Ok(Value::zero()),
            _ => Err(reject(at, "r3 is neither an address on the stack nor null")),
        }
    }
}
