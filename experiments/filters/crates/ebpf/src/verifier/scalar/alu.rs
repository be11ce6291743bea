//! Arithmetic on sets of numbers.

use super::{LOW, Scalar, Tnum};
use crate::concrete;
use crate::insn::Alu;
use crate::planted::{Fault, planted};

impl Scalar {
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
            Alu::And => {
                let less = u64::from(planted(Fault::AndOneLess));
                let most = self.umax.min(other.umax).saturating_sub(less);
                Self::from_bits(self.bits.and(other.bits), most, 0)
            }
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
