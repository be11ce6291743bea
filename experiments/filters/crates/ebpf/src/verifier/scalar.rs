//! The abstract value of a number: its known bits, and its bounds in both orders.

use super::tnum::Tnum;
use crate::concrete;
use crate::insn::Alu;

/// A set of 64-bit numbers. Invariant: not empty, and no bound can be tightened by [`Scalar::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The known bits.
    pub bits: Tnum,
    /// The smallest, unsigned.
    pub umin: u64,
    /// The largest, unsigned.
    pub umax: u64,
    /// The smallest, signed.
    pub smin: i64,
    /// The largest, signed.
    pub smax: i64,
}

const LOW: u64 = u32::MAX as u64;

impl Scalar {
    /// Every number.
    pub const UNKNOWN: Self = Self {
        bits: Tnum::UNKNOWN,
        umin: 0,
        umax: u64::MAX,
        smin: i64::MIN,
        smax: i64::MAX,
    };

    /// One number.
    pub fn constant(value: u64) -> Self {
        Self {
            bits: Tnum::constant(value),
            umin: value,
            umax: value,
            smin: value as i64,
            smax: value as i64,
        }
    }

    /// All of `low..=high`.
    pub fn range(low: u64, high: u64) -> Self {
        let free = (i64::MIN, i64::MAX);
        Self::new(Tnum::UNKNOWN, (low, high), free).unwrap_or(Self::UNKNOWN)
    }

    /// Return the intersection of the three sets, or `None` if it is empty. Each tightens the
    /// others.
    pub fn new(bits: Tnum, unsigned: (u64, u64), signed: (i64, i64)) -> Option<Self> {
        let (mut umin, mut umax) = unsigned;
        let (mut smin, mut smax) = signed;
        let mut bits = bits;
        // Twice: what the signed bounds gain from the bits, the unsigned ones learn the second time.
        for _ in 0..2 {
            umin = umin.max(bits.value);
            umax = umax.min(bits.value | bits.mask);
            if (umin as i64) <= (umax as i64) {
                // One half of the circle: both orders agree.
                smin = smin.max(umin as i64);
                smax = smax.min(umax as i64);
            }
            if (smin as u64) <= (smax as u64) {
                umin = umin.max(smin as u64);
                umax = umax.min(smax as u64);
            }
            if umin > umax || smin > smax {
                return None;
            }
            bits = bits.intersect(Tnum::range(umin, umax))?;
        }
        Some(Self {
            bits,
            umin,
            umax,
            smin,
            smax,
        })
    }

    /// The number, if it is only one.
    pub fn known(self) -> Option<u64> {
        (self.umin == self.umax).then_some(self.umin)
    }

    /// Return true if `number` is in the set.
    #[cfg(test)]
    pub fn contains(self, number: u64) -> bool {
        self.bits.contains(number)
            && (self.umin..=self.umax).contains(&number)
            && (self.smin..=self.smax).contains(&(number as i64))
    }

    /// A set with all of both.
    pub fn union(self, other: Self) -> Self {
        Self {
            bits: self.bits.union(other.bits),
            umin: self.umin.min(other.umin),
            umax: self.umax.max(other.umax),
            smin: self.smin.min(other.smin),
            smax: self.smax.max(other.smax),
        }
    }

    /// `next`, which contains `self`, with every bound that grew moved to the next of `thresholds`
    /// (ascending, as signed numbers), so that a loop's bounds grow only so many times.
    pub fn widen(self, next: Self, thresholds: &[i64]) -> Self {
        let above = |bound: i64| {
            let index = thresholds.partition_point(|&threshold| threshold < bound);
            thresholds.get(index).copied()
        };
        let below = |bound: i64| {
            let index = thresholds.partition_point(|&threshold| threshold <= bound);
            index.checked_sub(1).map(|index| thresholds[index])
        };
        let mut wide = next;
        if next.umax > self.umax {
            let bound = i64::try_from(next.umax).ok().and_then(above);
            wide.umax = bound.map_or(u64::MAX, |bound| bound as u64);
        }
        if next.umin < self.umin {
            let bound = i64::try_from(next.umin).ok().and_then(below);
            wide.umin = bound.map_or(0, |bound| bound.max(0) as u64);
        }
        if next.smax > self.smax {
            wide.smax = above(next.smax).unwrap_or(i64::MAX);
        }
        if next.smin < self.smin {
            wide.smin = below(next.smin).unwrap_or(i64::MIN);
        }
        // Of bits that changed only the alignment is kept, so that they change a few times at most.
        if wide.bits != self.bits {
            let aligned = wide.bits.mask.trailing_zeros().min(63);
            wide.bits.mask = u64::MAX << aligned;
            wide.bits.value &= !wide.bits.mask;
        }
        // The widened sets overlap, since all of them contain `next`.
        let (unsigned, signed) = ((wide.umin, wide.umax), (wide.smin, wide.smax));
        Self::new(wide.bits, unsigned, signed).unwrap_or(Self::UNKNOWN)
    }

    /// The lower 32 bits, extended with zeros.
    pub fn low32(self) -> Self {
        let bits = self.bits.low32();
        let bounds = if self.umax <= LOW {
            (self.umin, self.umax)
        } else if self.umin >> 32 == self.umax >> 32 {
            (self.umin & LOW, self.umax & LOW)
        } else {
            (0, LOW)
        };
        Self::new(bits, bounds, (0, LOW as i64)).unwrap_or(Self::range(0, LOW))
    }

    /// The low `width` bits, extended with their sign.
    pub fn sign_extend(self, width: u8) -> Self {
        let half = 1u64 << (width - 1);
        if self.umax < half {
            return self;
        }
        let signed = (-(half as i64), half as i64 - 1);
        let bounded = Self::new(Tnum::UNKNOWN, (0, u64::MAX), signed).unwrap_or(Self::UNKNOWN);
        match self.known() {
            Some(value) => Self::constant(concrete::sign_extend(value, width)),
            None if self.smin >= signed.0 && self.smax <= signed.1 => self,
            None => bounded,
        }
    }

    /// `self op other` in 64 or 32 bits.
    pub fn alu(self, wide: bool, op: Alu, other: Self) -> Self {
        if let (Some(a), Some(b)) = (self.known(), other.known()) {
            return Self::constant(concrete::alu(wide, op, a, b));
        }
        if wide {
            return self.alu64(op, other, 64);
        }
        let (a, b) = (self.low32(), other.low32());
        match op {
            // These look at the sign, which is elsewhere in 32 bits.
            Alu::Arsh => a.sign_extend(32).alu64(op, b, 32).low32(),
            Alu::SignedDiv | Alu::SignedMod => Self::range(0, LOW),
            _ => a.alu64(op, b, 32).low32(),
        }
    }

    fn alu64(self, op: Alu, other: Self, width: u64) -> Self {
        match op {
            Alu::Mov => other,
            Alu::Add => self.add(other),
            Alu::Sub => self.sub(other),
            Alu::Neg => Self::constant(0).sub(self),
            Alu::Mul => match self.umax.checked_mul(other.umax) {
                Some(most) => Self::range(self.umin * other.umin, most),
                None => Self::UNKNOWN,
            },
            Alu::And => Self::from_bits(self.bits.and(other.bits), self.umax.min(other.umax), 0),
            Alu::Or => {
                let least = self.umin.max(other.umin);
                Self::from_bits(self.bits.or(other.bits), u64::MAX, least)
            }
            Alu::Xor => Self::from_bits(self.bits.xor(other.bits), u64::MAX, 0),
            Alu::Lsh | Alu::Rsh | Alu::Arsh => self.shift(op, other, width),
            // Dividing by zero gives 0.
            Alu::Div => match other.known() {
                Some(by) if by != 0 => Self::range(self.umin / by, self.umax / by),
                _ => Self::range(0, self.umax),
            },
            // The remainder of zero gives the dividend.
            Alu::Mod => match other.known() {
                Some(by) if by != 0 => Self::range(0, self.umax.min(by - 1)),
                _ => Self::range(0, self.umax),
            },
            Alu::SignedDiv | Alu::SignedMod => Self::UNKNOWN,
        }
    }

    fn from_bits(bits: Tnum, umax: u64, umin: u64) -> Self {
        Self::new(bits, (umin, umax), (i64::MIN, i64::MAX)).unwrap_or(Self::UNKNOWN)
    }

    fn add(self, other: Self) -> Self {
        let unsigned = match self.umax.checked_add(other.umax) {
            Some(most) => (self.umin + other.umin, most),
            None => (0, u64::MAX),
        };
        let signed = (
            self.smin.checked_add(other.smin),
            self.smax.checked_add(other.smax),
        );
        Self::checked(self.bits.add(other.bits), unsigned, signed)
    }

    fn sub(self, other: Self) -> Self {
        let unsigned = match self.umin.checked_sub(other.umax) {
            Some(least) => (least, self.umax - other.umin),
            None => (0, u64::MAX),
        };
        let signed = (
            self.smin.checked_sub(other.smax),
            self.smax.checked_sub(other.smin),
        );
        Self::checked(self.bits.sub(other.bits), unsigned, signed)
    }

    fn checked(bits: Tnum, unsigned: (u64, u64), signed: (Option<i64>, Option<i64>)) -> Self {
        let signed = match signed {
            (Some(least), Some(most)) => (least, most),
            _ => (i64::MIN, i64::MAX),
        };
        Self::new(bits, unsigned, signed).unwrap_or(Self::UNKNOWN)
    }

    fn shift(self, op: Alu, other: Self, width: u64) -> Self {
        // The amount counts modulo the width.
        let Some(amount) = other.known().map(|amount| (amount % width) as u32) else {
            return match op {
                Alu::Rsh => Self::range(0, self.umax),
                _ => Self::UNKNOWN,
            };
        };
        let free = (i64::MIN, i64::MAX);
        match op {
            Alu::Lsh => {
                let unsigned = if self.umax.leading_zeros() >= amount {
                    (self.umin << amount, self.umax << amount)
                } else {
                    (0, u64::MAX)
                };
                Self::new(self.bits.lsh(amount), unsigned, free).unwrap_or(Self::UNKNOWN)
            }
            Alu::Rsh => {
                let unsigned = (self.umin >> amount, self.umax >> amount);
                Self::new(self.bits.rsh(amount), unsigned, free).unwrap_or(Self::UNKNOWN)
            }
            _ => {
                let signed = (self.smin >> amount, self.smax >> amount);
                let all = (0, u64::MAX);
                Self::new(self.bits.arsh(amount), all, signed).unwrap_or(Self::UNKNOWN)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Alu; 14] = [
        Alu::Add,
        Alu::Sub,
        Alu::Mul,
        Alu::Div,
        Alu::SignedDiv,
        Alu::Or,
        Alu::And,
        Alu::Lsh,
        Alu::Rsh,
        Alu::Neg,
        Alu::Mod,
        Alu::SignedMod,
        Alu::Xor,
        Alu::Arsh,
    ];

    const EDGES: [u64; 12] = [
        0,
        1,
        2,
        7,
        63,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0000,
        i64::MAX as u64,
        1 << 63,
        u64::MAX,
    ];

    /// The set of two numbers, and of what lies between them in either order.
    fn hull(a: u64, b: u64) -> Scalar {
        Scalar::constant(a).union(Scalar::constant(b))
    }

    #[test]
    fn every_result_is_in_the_set_of_results() {
        for (a, b) in EDGES.iter().flat_map(|a| EDGES.map(|b| (*a, b))) {
            for (c, d) in EDGES.iter().flat_map(|c| EDGES.map(|d| (*c, d))) {
                let (left, right) = (hull(a, b), hull(c, d));
                for (op, wide) in ALL.iter().flat_map(|op| [(*op, false), (*op, true)]) {
                    let set = left.alu(wide, op, right);
                    for (x, y) in [(a, c), (a, d), (b, c), (b, d)] {
                        let result = concrete::alu(wide, op, x, y);
                        assert!(set.contains(result), "{op:?} {wide} {x:#x} {y:#x}: {set:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn extending_the_sign_keeps_every_number() {
        for (a, b) in EDGES.iter().flat_map(|a| EDGES.map(|b| (*a, b))) {
            for bits in [8, 16, 32] {
                let set = hull(a, b).sign_extend(bits);
                for x in [a, b] {
                    assert!(
                        set.contains(concrete::sign_extend(x, bits)),
                        "{bits} {x:#x}: {set:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn widening_keeps_every_number_and_settles() {
        let thresholds = [0, 9, 10, 11, i64::from(u32::MAX)];
        for (a, b) in EDGES.iter().flat_map(|a| EDGES.map(|b| (*a, b))) {
            let mut set = Scalar::constant(a);
            for x in [b, a, b.wrapping_add(1), b.wrapping_sub(1), b] {
                let next = set.union(Scalar::constant(x));
                set = set.widen(next, &thresholds);
                assert!(set.contains(x) && set.contains(a), "{x:#x}: {set:?}");
            }
        }
    }
}
