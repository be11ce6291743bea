//! Eight bytes of the stack, one by one: which hold numbers, and which bits of these are known.

use super::tnum::Tnum;

/// The bytes of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// A one for each byte that was written with a number.
    pub written: u8,
    /// The numbers, as far as they are known.
    values: [u8; 8],
    /// A one for each bit that is not known.
    unknown: [u8; 8],
}

impl Bytes {
    /// Nothing that may be read.
    pub const NONE: Self = Self {
        written: 0,
        values: [0; 8],
        unknown: [u8::MAX; 8],
    };

    /// A number in one piece.
    pub fn number(bits: Tnum) -> Self {
        Self {
            written: u8::MAX,
            values: bits.value.to_le_bytes(),
            unknown: bits.mask.to_le_bytes(),
        }
    }

    /// Write a byte at its place: its value, and the bits that are not known.
    pub fn write(&mut self, at: usize, value: u8, unknown: u8) {
        self.written |= 1 << at;
        (self.values[at], self.unknown[at]) = (value, unknown);
    }

    /// Forget which number a byte holds, if it holds one.
    pub fn forget(&mut self, at: usize) {
        (self.values[at], self.unknown[at]) = (0, u8::MAX);
    }

    /// Return the number in a byte as far as it is known, and the bits that are not.
    pub fn known(&self, at: usize) -> (u8, u8) {
        (self.values[at], self.unknown[at])
    }

    /// Return what holds of both. To widen, what is not the same is forgotten byte by byte.
    pub fn join(self, other: Self, widen: bool) -> Self {
        let mut joined = self;
        joined.written &= other.written;
        for at in 0..8 {
            let differ = self.values[at] ^ other.values[at];
            let unknown = self.unknown[at] | other.unknown[at] | differ;
            if widen && unknown != self.unknown[at] {
                joined.forget(at);
            } else {
                joined.unknown[at] = unknown;
                joined.values[at] = self.values[at] & !unknown;
            }
        }
        joined
    }
}
