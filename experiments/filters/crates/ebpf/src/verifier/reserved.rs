//! Memory that programs reserve in queues: each piece is submitted or discarded once, on every path.
//!
//! A state knows what is reserved by the slot that reserves it. Until an address of it was compared with
//! null, and where paths meet of which one reserved nothing, all of its addresses may be null, and are or are
//! not at once: nothing is reserved where they are.

use super::rejection::{Rejection, reject};
use super::state::State;
use super::value::{Pointer, Region, Value};
use super::walk::Walk;
use crate::insn::Reg;
use crate::maps::MAX_RESERVED;
use crate::planted::{Fault, planted};

impl State {
    /// Return true if a value is an address of what both states have reserved, and 0 in one of them: whether it is
    /// null would say nothing of the other addresses.
    pub fn is_null_alone(&self, other: &Self, a: &Value, b: &Value) -> bool {
        let region = match (a, b) {
            (Value::Pointer(pointer), Value::Scalar(..)) => pointer.region,
            (Value::Scalar(..), Value::Pointer(pointer)) => pointer.region,
            _ => return false,
        };
        let both = |at| self.reserved.contains(&at) && other.reserved.contains(&at);
        matches!(region, Region::Reserved(at) if both(at))
    }

    /// An address of what the slot reserves is null, or it is not: so are all of them.
    pub fn settle_reserved(&mut self, at: usize, is_null: bool) {
        for place in self.places() {
            if let Value::Pointer(pointer) = place
                && pointer.region == Region::Reserved(at)
            {
                pointer.nullable = false;
                if is_null {
                    *place = Value::zero();
                }
            }
        }
        if is_null {
            self.reserved.remove(&at);
        }
    }
}

impl Walk<'_> {
    /// Reserve `bytes` bytes. Return their address, or null.
    pub(super) fn reserve(
        &self,
        at: usize,
        state: &mut State,
        bytes: u64,
    ) -> Result<Value, Rejection> {
        if state.reserved.contains(&at) {
            return Err(reject(
                at,
                "reserves again what was reserved here and not submitted or discarded",
            ));
        }
        if state.reserved.len() >= MAX_RESERVED {
            let reason = format!("reserves more than {MAX_RESERVED} records at once");
            return Err(reject(at, &reason));
        }
        state.reserved.insert(at);
        let mut pointer = Pointer::new(Region::Reserved(at), 0, bytes as i64);
        pointer.to_end += 8 * i64::from(planted(Fault::ReservedOneMore));
        pointer.nullable = true;
        pointer.link = Self::fresh(at, state);
        Ok(Value::Pointer(pointer))
    }

    /// Submit or discard what a register is the address of.
    pub(super) fn finish(
        &self,
        at: usize,
        state: &mut State,
        register: Reg,
    ) -> Result<(), Rejection> {
        let pointer = self.address(at, state, register)?;
        let Region::Reserved(slot) = pointer.region else {
            let reason = format!("r{register} is not what bpf_ringbuf_reserve returned");
            return Err(reject(at, &reason));
        };
        if pointer.at() != Some(0) {
            let reason = format!("r{register} is not the first byte of what was reserved");
            return Err(reject(at, &reason));
        }
        state.reserved.remove(&slot);
        state.forget(Region::Reserved(slot));
        Ok(())
    }

    /// Check that nothing is reserved where a run may end.
    pub(super) fn none_reserved(&self, at: usize, state: &State) -> Result<(), Rejection> {
        let Some(&slot) = state.reserved.first() else {
            return Ok(());
        };
        let place = self.program.source(slot).unwrap_or_default();
        let reason = format!(
            "ends while what instruction {slot} {place} reserved is neither submitted nor discarded"
        );
        Err(reject(at, &reason.replace("  ", " ")))
    }
}
