//! Tristate numbers: which bits of a value are known, and what they are.
//!
//! Source: Vishwanathan, Shachnai, Narayana, Nagarakatte: "Sound, Precise, and Fast Abstract
//! Interpretation with Tristate Numbers" (CGO 2022), the domain of the kernel's verifier.

/// A set of numbers: those that agree with `value` in every bit that is not in `mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tnum {
    /// The known bits; zero where `mask` has a one.
    pub value: u64,
    /// The unknown bits.
    pub mask: u64,
}

impl Tnum {
    /// Every number.
    pub const UNKNOWN: Self = Self {
        value: 0,
        mask: u64::MAX,
    };

    fn new(value: u64, mask: u64) -> Self {
        Self {
            value: value & !mask,
            mask,
        }
    }

    /// One number.
    pub fn constant(value: u64) -> Self {
        Self { value, mask: 0 }
    }

    /// The smallest set with all of `low..=high`.
    pub fn range(low: u64, high: u64) -> Self {
        let differing = 64 - (low ^ high).leading_zeros();
        Self::new(low, low_bits(differing))
    }

    /// Return true if `number` is in the set.
    #[cfg(test)]
    pub fn contains(self, number: u64) -> bool {
        number & !self.mask == self.value
    }

    /// Return true if every number of the set is a multiple of `power`, a power of two.
    pub fn is_multiple_of(self, power: u64) -> bool {
        (self.value | self.mask) & (power - 1) == 0
    }

    /// The sums.
    pub fn add(self, other: Self) -> Self {
        let masks = self.mask.wrapping_add(other.mask);
        let values = self.value.wrapping_add(other.value);
        let carries = masks.wrapping_add(values) ^ values;
        Self::new(values, carries | self.mask | other.mask)
    }

    /// The differences.
    pub fn sub(self, other: Self) -> Self {
        let values = self.value.wrapping_sub(other.value);
        let most = values.wrapping_add(self.mask);
        let least = values.wrapping_sub(other.mask);
        Self::new(values, most ^ least | self.mask | other.mask)
    }

    /// Bitwise and.
    pub fn and(self, other: Self) -> Self {
        let possible = (self.value | self.mask) & (other.value | other.mask);
        let value = self.value & other.value;
        Self::new(value, possible & !value)
    }

    /// Bitwise or.
    pub fn or(self, other: Self) -> Self {
        let value = self.value | other.value;
        Self::new(value, (self.mask | other.mask) & !value)
    }

    /// Bitwise exclusive or.
    pub fn xor(self, other: Self) -> Self {
        Self::new(self.value ^ other.value, self.mask | other.mask)
    }

    /// Shifted to the left.
    pub fn lsh(self, amount: u32) -> Self {
        Self::new(self.value << amount, self.mask << amount)
    }

    /// Shifted to the right, filled with zeros.
    pub fn rsh(self, amount: u32) -> Self {
        Self::new(self.value >> amount, self.mask >> amount)
    }

    /// Shifted to the right, filled with the sign.
    pub fn arsh(self, amount: u32) -> Self {
        let shift = |bits: u64| ((bits as i64) >> amount) as u64;
        Self::new(shift(self.value), shift(self.mask))
    }

    /// The lower 32 bits.
    pub fn low32(self) -> Self {
        let low = u64::from(u32::MAX);
        Self::new(self.value & low, self.mask & low)
    }

    /// Return the intersection, or `None` if a known bit differs.
    pub fn intersect(self, other: Self) -> Option<Self> {
        let mask = self.mask & other.mask;
        let agree = (self.value ^ other.value) & !(self.mask | other.mask) == 0;
        agree.then(|| Self::new(self.value | other.value, mask))
    }

    /// A set with all of both.
    pub fn union(self, other: Self) -> Self {
        let mask = self.mask | other.mask | (self.value ^ other.value);
        Self::new(self.value, mask)
    }
}

fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count).unwrap_or(0)
}
