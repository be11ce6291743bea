//! Arithmetic on numbers and on addresses.

use super::rejection::{Rejection, reject};
use super::scalar::Scalar;
use super::state::State;
use super::value::{Pointer, Region, Value};
use super::walk::Walk;
use crate::concrete;
use crate::insn::{Alu, Reg, Source};

impl Walk<'_> {
    /// The number in a register.
    pub(super) fn number(
        &self,
        at: usize,
        state: &State,
        register: Reg,
    ) -> Result<Scalar, Rejection> {
        match state.get(register) {
            Value::Scalar(scalar, _) => Ok(scalar),
            Value::Unusable => Err(unusable(at, register)),
            _ => Err(reject(
                at,
                &format!("r{register} holds an address where a number is needed"),
            )),
        }
    }

    /// The second operand.
    pub(super) fn operand(
        &self,
        at: usize,
        state: &State,
        source: Source,
    ) -> Result<Value, Rejection> {
        match source {
            Source::Imm(imm) => Ok(Value::scalar(Scalar::constant(i64::from(imm) as u64))),
            Source::Reg(register) => match state.get(register) {
                Value::Unusable => Err(unusable(at, register)),
                value => Ok(value),
            },
        }
    }

    pub(super) fn swapped(
        &self,
        at: usize,
        state: &State,
        swap: bool,
        bits: u8,
        register: Reg,
    ) -> Result<Value, Rejection> {
        let number = self.number(at, state, register)?;
        Ok(Value::scalar(match (number.known(), bits) {
            (Some(known), _) => Scalar::constant(concrete::byte_swap(swap, bits, known)),
            (None, 64) => Scalar::UNKNOWN,
            (None, _) => Scalar::range(0, (1 << bits) - 1),
        }))
    }

    pub(super) fn alu(
        &self,
        at: usize,
        state: &mut State,
        wide: bool,
        op: Alu,
        dst: Reg,
        src: Source,
    ) -> Result<(), Rejection> {
        let right = self.operand(at, state, src)?;
        if op == Alu::Mov {
            let value = match right {
                _ if wide => self.shared(at, state, src, right),
                Value::Scalar(scalar, _) => Value::scalar(scalar.low32()),
                Value::Pointer(pointer) if !pointer.nullable => Value::Half(pointer),
                _ => return Err(reject(at, "takes half of an address")),
            };
            state.set(dst, value);
            return Ok(());
        }
        let left = match state.get(dst) {
            Value::Unusable => return Err(unusable(at, dst)),
            value => value,
        };
        let value = match (left, right, op) {
            (Value::Scalar(a, _), Value::Scalar(b, _), _) => Value::scalar(a.alu(wide, op, b)),
            (Value::Pointer(pointer), Value::Scalar(by, _), Alu::Add) if wide => {
                moved(at, state, pointer, by)?
            }
            (Value::Scalar(by, _), Value::Pointer(pointer), Alu::Add) if wide => {
                moved(at, state, pointer, by)?
            }
            (Value::Pointer(pointer), Value::Scalar(by, _), Alu::Sub) if wide => moved(
                at,
                state,
                pointer,
                Scalar::constant(0).alu(true, Alu::Sub, by),
            )?,
            (Value::Pointer(a), Value::Pointer(b), Alu::Sub) if wide => {
                Value::scalar(distance(at, &a, &b)?)
            }
            (Value::Pointer(a) | Value::Half(a), Value::Pointer(b) | Value::Half(b), Alu::Sub)
                if !wide =>
            {
                Value::scalar(distance(at, &a, &b)?.low32())
            }
            _ => {
                return Err(reject(
                    at,
                    "computes with an address; only adding and subtracting numbers, and the distance of two addresses in one region, are allowed",
                ));
            }
        };
        state.set(dst, value);
        Ok(())
    }

    /// A copy of the operand that stays tied to it: what is found out about one holds for both.
    pub(super) fn shared(
        &self,
        at: usize,
        state: &mut State,
        source: Source,
        mut value: Value,
    ) -> Value {
        if let Source::Reg(register @ 0..=9) = source
            && value.link().id == 0
        {
            let link = Self::fresh(at, state);
            value.set_link(link);
            state.set(register, value);
        }
        value
    }
}

pub(super) fn unusable(at: usize, register: Reg) -> Rejection {
    reject(
        at,
        &format!(
            "r{register} holds nothing that may be used: it was not written on every path, or a call ended it"
        ),
    )
}

fn moved(at: usize, state: &mut State, pointer: Pointer, by: Scalar) -> Result<Value, Rejection> {
    if pointer.nullable {
        return Err(reject(
            at,
            "moves an address that may be null; compare it with 0 first",
        ));
    }
    if matches!(pointer.region, Region::Context | Region::WindowEnd(_)) && by.known() != Some(0) {
        return Err(reject(at, "moves the context or the end of a window"));
    }
    let mut moved = pointer.moved(by).ok_or_else(|| {
        reject(at, "moves an address too far; bound the number that is added, or compare the address with its end in each turn of the loop")
    })?;
    if moved.link.id == 0 {
        moved.link = Walk::fresh(at, state);
    }
    Ok(Value::Pointer(moved))
}

/// `a - b`, for two addresses in one region.
fn distance(at: usize, a: &Pointer, b: &Pointer) -> Result<Scalar, Rejection> {
    let least = match (a.region, b.region) {
        _ if a.nullable || b.nullable => None,
        (Region::WindowEnd(n), Region::Window(m)) if n == m => Some(b.to_end),
        (Region::MapValue(_), _) => None,
        (x, y) if x == y => Some(i64::MIN),
        _ => None,
    };
    let least = least.ok_or_else(|| reject(at, "subtracts addresses of different regions"))?;
    let all = (0, u64::MAX);
    let bits = super::tnum::Tnum::UNKNOWN;
    Ok(Scalar::new(bits, all, (least, i64::MAX)).unwrap_or(Scalar::UNKNOWN))
}
