//! Arithmetic on numbers and on addresses.

use super::rejection::{Rejection, reject};
use super::scalar::{Room, Scalar};
use super::state::State;
use super::value::{Link, Pointer, Region, Value};
use super::walk::Walk;
use crate::concrete;
use crate::insn::{Alu, Op, Reg, Source};
use crate::planted::{Fault, planted};

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
                Value::Scalar(scalar, _) if scalar.umax <= u32::MAX.into() => {
                    self.shared(at, state, src, right)
                }
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
            (Value::Scalar(a, link), Value::Scalar(b, _), _) => added(wide, op, a, link, b),
            (Value::Pointer(pointer), Value::Scalar(by, _), Alu::Add) if wide => {
                let number = self.shared(at, state, src, right).link();
                moved(at, state, pointer, by, number)?
            }
            (Value::Scalar(by, number), Value::Pointer(pointer), Alu::Add) if wide => {
                moved(at, state, pointer, by, number)?
            }
            (Value::Pointer(pointer), Value::Scalar(by, _), Alu::Sub) if wide => {
                let by = Scalar::constant(0).alu(true, Alu::Sub, by);
                moved(at, state, pointer, by, Link::default())?
            }
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

    /// Return true if the instruction and the next extend the lower half of a register with its sign, false
    /// if they extend it with zeros: what compilers make where a processor has no arithmetic of 32 bits.
    pub(super) fn extends(&self, at: usize) -> Option<bool> {
        let shift = |at: usize| match self.program.ops().get(at)? {
            Op::Alu {
                wide: true,
                op,
                dst,
                src: Source::Imm(32),
            } => Some((*op, *dst)),
            _ => None,
        };
        let (first, second) = (shift(at)?, shift(at + 1)?);
        let pair = first.0 == Alu::Lsh && first.1 == second.1 && !self.targets.contains(&(at + 1));
        match second.0 {
            Alu::Arsh if pair => Some(true),
            Alu::Rsh if pair => Some(false),
            _ => None,
        }
    }

    /// Extend the lower half of a register. A number that is its lower half stays what it is.
    pub(super) fn extend(
        &self,
        at: usize,
        state: &mut State,
        register: Reg,
        signed: bool,
    ) -> Result<(), Rejection> {
        let number = self.number(at, state, register)?;
        let extended = if signed {
            number.sign_extend(32)
        } else {
            number.low32()
        };
        if extended != number {
            state.set(register, Value::scalar(extended));
        }
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
            let link = Self::fresh_operand(at, state);
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

/// `a op b`, which stays tied to `a` and its room if a constant is added.
fn added(wide: bool, op: Alu, a: Scalar, link: Link, b: Scalar) -> Value {
    let mut result = a.alu(wide, op, b);
    let by = match (op, b.known()) {
        (Alu::Add, Some(by)) => Some(by as i64),
        (Alu::Sub, Some(by)) => (by as i64).checked_neg(),
        _ => None,
    };
    let tied = by.and_then(|by| {
        let (low, high) = (a.smin.checked_add(by)?, a.smax.checked_add(by)?);
        let same = wide || a.smin >= 0 && a.smax.max(high) <= u32::MAX.into() && low >= 0;
        let link = link.moved(by)?;
        let near = (-Pointer::LIMIT..=Pointer::LIMIT).contains(&link.delta);
        (same && near).then_some((by, link))
    });
    let Some((by, link)) = tied else {
        return Value::scalar(result);
    };
    result.room = a.room.and_then(|room| {
        let by = if planted(Fault::WindowRoomStays) {
            0
        } else {
            by
        };
        let bytes = room.bytes.checked_sub(by)?;
        Some(Room { bytes, ..room })
    });
    Value::Scalar(result, link)
}

fn moved(
    at: usize,
    state: &mut State,
    pointer: Pointer,
    by: Scalar,
    number: Link,
) -> Result<Value, Rejection> {
    if pointer.nullable {
        return Err(reject(
            at,
            "moves an address that may be null; compare it with 0 first",
        ));
    }
    let fixed = matches!(
        pointer.region,
        Region::Context | Region::WindowEnd(_) | Region::Inner(_)
    );
    if fixed && by.known() != Some(0) {
        return Err(reject(
            at,
            "moves the context, a map, or the end of a window",
        ));
    }
    let mut moved = pointer.moved(by, number).ok_or_else(|| {
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
        (Region::MapValue(_) | Region::Inner(_), _) => None,
        (x, y) if x == y => Some(i64::MIN),
        _ => None,
    };
    let least = least.ok_or_else(|| reject(at, "subtracts addresses of different regions"))?;
    let all = (0, u64::MAX);
    let bits = super::tnum::Tnum::UNKNOWN;
    let mut distance = Scalar::new(bits, all, (least, i64::MAX)).unwrap_or(Scalar::UNKNOWN);
    // From the start to the end of a window there are as many bytes, and so behind less of them.
    distance.room = match (a.region, b.at()) {
        (Region::WindowEnd(window), Some(bytes)) => Some(Room { window, bytes }),
        _ => None,
    };
    Ok(distance)
}
