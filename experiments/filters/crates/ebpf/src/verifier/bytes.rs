//! Eight bytes of the stack, one by one: which hold numbers, and which of these are known.

/// The bytes of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// A one for each byte that was written with a number.
    pub written: u8,
    /// A one for each byte whose number is known.
    known: u8,
    /// The known numbers; 0 elsewhere.
    values: [u8; 8],
}

impl Bytes {
    /// Nothing that may be read.
    pub const NONE: Self = Self {
        written: 0,
        known: 0,
        values: [0; 8],
    };

    /// A number in one piece.
    pub fn number(known: Option<u64>) -> Self {
        Self {
            written: 0xff,
            known: if known.is_some() { 0xff } else { 0 },
            values: known.unwrap_or(0).to_le_bytes(),
        }
    }

    /// Write a byte at its place.
    pub fn write(&mut self, at: usize, value: Option<u8>) {
        self.written |= 1 << at;
        self.known &= !(1 << at);
        self.known |= u8::from(value.is_some()) << at;
        self.values[at] = value.unwrap_or(0);
    }

    /// Forget which number a byte holds, if it holds one.
    pub fn forget(&mut self, at: usize) {
        self.known &= !(1 << at);
        self.values[at] = 0;
    }

    /// Return the number in a byte, if it is known.
    pub fn known(&self, at: usize) -> Option<u8> {
        (self.known >> at & 1 == 1).then_some(self.values[at])
    }

    /// Return what holds of both.
    pub fn join(self, other: Self) -> Self {
        let mut joined = self;
        joined.written &= other.written;
        for at in 0..8 {
            if self.known(at).is_none() || self.known(at) != other.known(at) {
                joined.forget(at);
            }
        }
        joined
    }
}
