//! The abstract value of a number: its known bits, and its bounds in both orders.

mod alu;

use super::tnum::Tnum;
use crate::concrete;
use crate::planted::{Fault, planted};

/// The reach of a number in a window: the window has as many bytes after its start plus the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The window.
    pub window: u8,
    /// The bytes at least; the number counts with its sign.
    pub bytes: i64,
}

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
    /// The smallest and the largest of the lower 32 bits, signed.
    pub half: (i32, i32),
    /// A window that has room behind every number of the set.
    pub room: Option<Room>,
}

const LOW: u64 = u32::MAX as u64;
const ANY_HALF: (i32, i32) = (i32::MIN, i32::MAX);

impl Scalar {
    /// Every number.
    pub const UNKNOWN: Self = Self {
        bits: Tnum::UNKNOWN,
        umin: 0,
        umax: u64::MAX,
        smin: i64::MIN,
        smax: i64::MAX,
        half: ANY_HALF,
        room: None,
    };

    /// One number.
    pub fn constant(value: u64) -> Self {
        Self {
            bits: Tnum::constant(value),
            umin: value,
            umax: value,
            smin: value as i64,
            smax: value as i64,
            half: (value as i32, value as i32),
            room: None,
        }
    }

    /// All of `low..=high`.
    pub fn range(low: u64, high: u64) -> Self {
        let free = (i64::MIN, i64::MAX);
        Self::new(Tnum::UNKNOWN, (low, high), free).unwrap_or(Self::UNKNOWN)
    }

    /// All of `low..=high`, with signs.
    pub fn signed_range(low: i64, high: i64) -> Self {
        Self::new(Tnum::UNKNOWN, (0, u64::MAX), (low, high)).unwrap_or(Self::UNKNOWN)
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
            half: half_of(smin, smax),
            room: None,
        })
    }

    /// Return the numbers whose lower 32 bits are within signed bounds, or `None` if there are none.
    pub fn with_half(self, bounds: (i32, i32)) -> Option<Self> {
        let half = (self.half.0.max(bounds.0), self.half.1.min(bounds.1));
        let (low, high) = (i64::from(half.0), i64::from(half.1));
        if low > high {
            return None;
        }
        let (mut unsigned, mut signed) = ((self.umin, self.umax), (self.smin, self.smax));
        if self.umax <= LOW && (low < 0) == (high < 0) {
            unsigned.0 = unsigned.0.max(low as u64 & LOW);
            unsigned.1 = unsigned.1.min(high as u64 & LOW);
        }
        if self.smin >= i64::from(i32::MIN) && self.smax <= i64::from(i32::MAX) {
            signed = (signed.0.max(low), signed.1.min(high));
        }
        let tight = Self::new(self.bits, unsigned, signed)?;
        let half = (half.0.max(tight.half.0), half.1.min(tight.half.1));
        (half.0 <= half.1).then_some(Self {
            half,
            room: self.room,
            ..tight
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
            && (self.half.0..=self.half.1).contains(&(number as i32))
    }

    /// Return the numbers that are in both, or `None` if there are none.
    pub fn intersect(self, other: Self) -> Option<Self> {
        let bits = self.bits.intersect(other.bits)?;
        let unsigned = (self.umin.max(other.umin), self.umax.min(other.umax));
        let signed = (self.smin.max(other.smin), self.smax.min(other.smax));
        let half = (self.half.0.max(other.half.0), self.half.1.min(other.half.1));
        let room = self.room;
        let both = Self::new(bits, unsigned, signed)?.with_half(half)?;
        Some(Self { room, ..both })
    }

    /// A set with all of both. The caller joins the rooms.
    pub fn union(self, other: Self) -> Self {
        if planted(Fault::JoinForgets) {
            return self;
        }
        Self {
            bits: self.bits.union(other.bits),
            umin: self.umin.min(other.umin),
            umax: self.umax.max(other.umax),
            smin: self.smin.min(other.smin),
            smax: self.smax.max(other.smax),
            half: (self.half.0.min(other.half.0), self.half.1.max(other.half.1)),
            room: None,
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
        let half = if next.half == self.half {
            next.half
        } else {
            ANY_HALF
        };
        Self::new(wide.bits, unsigned, signed)
            .and_then(|wide| wide.with_half(half))
            .unwrap_or(Self::UNKNOWN)
    }

    /// The lower 32 bits, extended with zeros.
    pub fn low32(self) -> Self {
        if self.umax <= LOW {
            return self;
        }
        let bits = self.bits.low32();
        let bounds = if self.umin >> 32 == self.umax >> 32 {
            (self.umin & LOW, self.umax & LOW)
        } else {
            (0, LOW)
        };
        Self::new(bits, bounds, (0, LOW as i64))
            .and_then(|low| low.with_half(self.half))
            .unwrap_or(Self::range(0, LOW))
    }

    /// The low `width` bits, extended with their sign.
    pub fn sign_extend(self, width: u8) -> Self {
        let half = 1u64 << (width - 1);
        if self.umax < half {
            return self;
        }
        let signed = (-(half as i64), half as i64 - 1);
        let bounded = match width {
            32 => Self::signed_range(self.half.0.into(), self.half.1.into()),
            _ => Self::signed_range(signed.0, signed.1),
        };
        match self.known() {
            Some(value) => Self::constant(concrete::sign_extend(value, width)),
            None if self.smin >= signed.0 && self.smax <= signed.1 => self,
            None => bounded,
        }
    }
}

/// The bounds of the lower halves of `smin..=smax`.
fn half_of(smin: i64, smax: i64) -> (i32, i32) {
    let (low, high) = (smin as i32, smax as i32);
    let together = smax.checked_sub(smin) == Some(i64::from(high) - i64::from(low));
    if low <= high && together {
        (low, high)
    } else {
        ANY_HALF
    }
}

#[cfg(test)]
mod tests;
