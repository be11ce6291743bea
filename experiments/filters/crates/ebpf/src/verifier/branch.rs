//! Conclusions from a comparison, when it holds and when it does not.

use super::arithmetic::unusable;
use super::rejection::{Rejection, reject};
use super::scalar::Scalar;
use super::state::State;
use super::tnum::Tnum;
use super::value::{Pointer, Region, Value};
use super::walk::{Walk, Ways};
use crate::insn::{Alu, Cond, Reg, Source};
use crate::planted::{Fault, planted};

impl Walk<'_> {
    /// A conditional jump.
    pub(super) fn branch(
        &self,
        at: usize,
        state: State,
        wide: bool,
        cond: Cond,
        dst: Reg,
        src: Source,
    ) -> Result<Ways, Rejection> {
        let right = self.operand(at, &state, src)?;
        let left = match state.get(dst) {
            Value::Unusable => return Err(unusable(at, dst)),
            value => value,
        };
        let either = |truth: bool| {
            let cond = if truth { Test::Is(cond) } else { inverse(cond) };
            match (left, right) {
                (Value::Scalar(a, _), Value::Scalar(b, _)) => {
                    Some(numbers(&state, wide, cond, (a, dst), (b, src)))
                }
                (Value::Pointer(_), Value::Scalar(zero, _)) if wide && zero.known() == Some(0) => {
                    null(&state, cond, dst)
                }
                (Value::Pointer(a), Value::Pointer(b)) if wide && !a.nullable && !b.nullable => {
                    addresses(&state, cond, (&a, dst), (&b, src))
                }
                _ => None,
            }
        };
        let kinds = || {
            reject(
                at,
                "compares an address with something else than null or an address in the same region",
            )
        };
        Ok((
            either(true).ok_or_else(kinds)?,
            either(false).ok_or_else(kinds)?,
        ))
    }
}

/// A condition, or that two numbers have no bit in common.
#[derive(Clone, Copy, PartialEq)]
enum Test {
    Is(Cond),
    Clear,
}

fn inverse(cond: Cond) -> Test {
    Test::Is(match cond {
        Cond::Set => return Test::Clear,
        Cond::Eq => Cond::Ne,
        Cond::Ne => Cond::Eq,
        Cond::Gt => Cond::Le,
        Cond::Le => Cond::Gt,
        Cond::Ge => Cond::Lt,
        Cond::Lt => Cond::Ge,
        Cond::SignedGt => Cond::SignedLe,
        Cond::SignedLe => Cond::SignedGt,
        Cond::SignedGe => Cond::SignedLt,
        Cond::SignedLt => Cond::SignedGe,
    })
}

/// Change every value that shares the base of `register`'s value.
fn update(state: &mut State, register: Reg, change: impl Fn(&mut Value)) {
    let link = state.get(register).link();
    if link.id == 0 {
        let mut value = state.get(register);
        change(&mut value);
        if register < 10 {
            state.set(register, value);
        }
        return;
    }
    for place in state.places().filter(|place| place.link().id == link.id) {
        change(place);
    }
}

fn numbers(
    state: &State,
    wide: bool,
    test: Test,
    (a, dst): (Scalar, Reg),
    (b, src): (Scalar, Source),
) -> Option<State> {
    let mut state = state.clone();
    let (new_a, new_b) = if wide {
        refine(test, a, b)?
    } else {
        refine32(test, a, b)?
    };
    refined(&mut state, dst, new_a);
    if let Source::Reg(register) = src
        && register != dst
    {
        refined(&mut state, register, new_b);
    }
    Some(state)
}

/// A register holds one of these numbers, and every value with the same base one at its distance.
fn refined(state: &mut State, register: Reg, new: Scalar) {
    let delta = state.get(register).link().delta;
    update(state, register, |value| {
        if let Value::Scalar(scalar, link) = value {
            let moved = match link.delta - delta {
                0 => new,
                by => new.alu(true, Alu::Add, Scalar::constant(by as u64)),
            };
            *scalar = scalar.intersect(moved).unwrap_or(*scalar);
        }
    });
}

/// The numbers of `a` and `b` for whose lower halves the test may hold.
fn refine32(test: Test, a: Scalar, b: Scalar) -> Option<(Scalar, Scalar)> {
    let (low_a, low_b) = (a.low32(), b.low32());
    let (half_a, half_b) = match test {
        Test::Is(Cond::SignedGt | Cond::SignedGe | Cond::SignedLt | Cond::SignedLe) => {
            let signed = |s: Scalar| Scalar::signed_range(s.half.0.into(), s.half.1.into());
            let (a, b) = refine(test, signed(low_a), signed(low_b))?;
            (low_a.with_half(a.half)?, low_b.with_half(b.half)?)
        }
        _ => refine(test, low_a, low_b)?,
    };
    // A number with an upper half keeps it.
    let whole = |s: Scalar, half: Scalar| {
        if s.umax <= u32::MAX.into() || planted(Fault::HalfForWhole) {
            Some(half)
        } else {
            s.with_half(half.half)
        }
    };
    Some((whole(a, half_a)?, whole(b, half_b)?))
}

/// The numbers of `a` and `b` for which the test may hold.
fn refine(test: Test, a: Scalar, b: Scalar) -> Option<(Scalar, Scalar)> {
    let bounds = |s: Scalar, unsigned: (u64, u64), signed: (i64, i64)| {
        let unsigned = (s.umin.max(unsigned.0), s.umax.min(unsigned.1));
        let signed = (s.smin.max(signed.0), s.smax.min(signed.1));
        Scalar::new(s.bits, unsigned, signed)?.with_half(s.half)
    };
    let unsigned = |s, low, high| bounds(s, (low, high), (i64::MIN, i64::MAX));
    let signed = |s, low, high| bounds(s, (0, u64::MAX), (low, high));
    Some(match test {
        Test::Is(Cond::Eq) => {
            let both = a.intersect(b)?;
            (both, both)
        }
        Test::Is(Cond::Ne) => (without(a, b)?, without(b, a)?),
        Test::Is(Cond::Set) => {
            let possible = (a.bits.value | a.bits.mask) & (b.bits.value | b.bits.mask);
            (possible != 0).then_some((a, b))?
        }
        Test::Clear => match b.known() {
            Some(mask) => {
                let clear = Tnum {
                    value: 0,
                    mask: !mask,
                };
                let bits = a.bits.intersect(clear)?;
                let clear = Scalar::new(bits, (a.umin, a.umax), (a.smin, a.smax))?;
                (clear.with_half(a.half)?, b)
            }
            None => (a, b),
        },
        Test::Is(Cond::Gt) => (
            unsigned(a, b.umin.checked_add(1)?, u64::MAX)?,
            unsigned(b, 0, a.umax.checked_sub(1)?)?,
        ),
        Test::Is(Cond::Ge) => (unsigned(a, b.umin, u64::MAX)?, unsigned(b, 0, a.umax)?),
        Test::Is(Cond::SignedGt) => (
            signed(a, b.smin.checked_add(1)?, i64::MAX)?,
            signed(b, i64::MIN, a.smax.checked_sub(1)?)?,
        ),
        Test::Is(Cond::SignedGe) => (signed(a, b.smin, i64::MAX)?, signed(b, i64::MIN, a.smax)?),
        Test::Is(Cond::Lt) => swap(refine(Test::Is(Cond::Gt), b, a)?),
        Test::Is(Cond::Le) => swap(refine(Test::Is(Cond::Ge), b, a)?),
        Test::Is(Cond::SignedLt) => swap(refine(Test::Is(Cond::SignedGt), b, a)?),
        Test::Is(Cond::SignedLe) => swap(refine(Test::Is(Cond::SignedGe), b, a)?),
    })
}

fn swap((a, b): (Scalar, Scalar)) -> (Scalar, Scalar) {
    (b, a)
}

/// `a` without the number of `b`, if that is one and at the edge.
fn without(a: Scalar, b: Scalar) -> Option<Scalar> {
    let Some(number) = b.known() else {
        return Some(a);
    };
    if a.known() == Some(number) {
        return None;
    }
    let signed = number as i64;
    let unsigned_bounds = (
        a.umin + u64::from(a.umin == number),
        a.umax - u64::from(a.umax == number),
    );
    let signed_bounds = (
        a.smin + i64::from(a.smin == signed),
        a.smax - i64::from(a.smax == signed),
    );
    Scalar::new(a.bits, unsigned_bounds, signed_bounds)?.with_half(a.half)
}

/// An address against null.
fn null(state: &State, test: Test, register: Reg) -> Option<Option<State>> {
    let mut state = state.clone();
    let Value::Pointer(pointer) = state.get(register) else {
        return None;
    };
    let is_null = match test {
        Test::Is(Cond::Eq) => true,
        Test::Is(Cond::Ne) => false,
        _ => return None,
    };
    // Of the rest, only a window without bytes may be at no address.
    let sometimes =
        pointer.nullable || matches!(pointer.region, Region::Window(_) | Region::WindowEnd(_));
    if is_null && !sometimes {
        return Some(None);
    }
    if let (true, Region::Reserved(at)) = (pointer.nullable, pointer.region) {
        state.settle_reserved(at, is_null);
    } else if pointer.nullable {
        update(&mut state, register, |value| match value {
            Value::Pointer(pointer) if !is_null => pointer.nullable = false,
            Value::Pointer(pointer) if pointer.nullable => {
                *value = Value::scalar(Scalar::constant(0));
            }
            _ => {}
        });
    }
    Some(Some(state))
}

/// Two addresses in one region.
fn addresses(
    state: &State,
    test: Test,
    (a, dst): (&Pointer, Reg),
    (b, src): (&Pointer, Source),
) -> Option<Option<State>> {
    let mut state = state.clone();
    let (Test::Is(cond), Source::Reg(src)) = (test, src) else {
        return None;
    };
    let (pointer, register, cond) = match (a.region, b.region) {
        (Region::Window(n), Region::WindowEnd(m)) if n == m => (a, dst, cond),
        (Region::WindowEnd(n), Region::Window(m)) if n == m => (b, src, mirrored(cond)),
        (x, y) if x == y => return comparable(cond).then_some(Some(state)),
        _ => return None,
    };
    let to_end = match cond {
        Cond::Lt => 1,
        Cond::Le | Cond::Eq => 0,
        // Not at the end, and not beyond it.
        Cond::Ne if pointer.to_end >= 0 => 1,
        _ => return comparable(cond).then_some(Some(state)),
    };
    let found = pointer.to_end.max(to_end);
    let pointer = *pointer;
    if let Region::Window(window) = pointer.region {
        state.has_room(&pointer, window, found);
    }
    update(&mut state, register, |value| {
        if let Value::Pointer(other) = value {
            let further = pointer.link.delta - other.link.delta;
            other.to_end = other.to_end.max(found + further);
        }
    });
    Some(Some(state))
}

fn comparable(cond: Cond) -> bool {
    matches!(
        cond,
        Cond::Eq | Cond::Ne | Cond::Gt | Cond::Ge | Cond::Lt | Cond::Le
    )
}

/// The condition with its sides exchanged.
fn mirrored(cond: Cond) -> Cond {
    match cond {
        Cond::Gt => Cond::Lt,
        Cond::Ge => Cond::Le,
        Cond::Lt => Cond::Gt,
        Cond::Le => Cond::Ge,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::concrete::holds;

    const EDGES: [u64; 10] = [
        0,
        1,
        15,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0000,
        i64::MAX as u64,
        1 << 63,
        u64::MAX,
    ];
    const CONDITIONS: [Cond; 11] = [
        Cond::Eq,
        Cond::Ne,
        Cond::Set,
        Cond::Gt,
        Cond::Ge,
        Cond::Lt,
        Cond::Le,
        Cond::SignedGt,
        Cond::SignedGe,
        Cond::SignedLt,
        Cond::SignedLe,
    ];

    fn hull(a: u64, b: u64) -> Scalar {
        Scalar::constant(a).union(Scalar::constant(b))
    }

    #[test]
    fn no_number_is_lost_for_which_a_condition_holds() {
        let pairs = || EDGES.iter().flat_map(|a| EDGES.map(|b| (*a, b)));
        for ((a, b), (c, d)) in pairs().flat_map(|left| pairs().map(move |right| (left, right))) {
            let (left, right) = (hull(a, b), hull(c, d));
            for (cond, wide) in CONDITIONS.iter().flat_map(|c| [(*c, false), (*c, true)]) {
                let both = |test| {
                    if wide {
                        refine(test, left, right)
                    } else {
                        refine32(test, left, right)
                    }
                };
                let ways = [both(inverse(cond)), both(Test::Is(cond))];
                for (x, y) in [(a, c), (a, d), (b, c), (b, d)] {
                    let way = ways[usize::from(holds(wide, cond, x, y))];
                    assert!(
                        way.is_some_and(|(a, b)| a.contains(x) && b.contains(y)),
                        "{cond:?} {wide} {x:#x} {y:#x}: {way:?}"
                    );
                }
            }
        }
    }
}
