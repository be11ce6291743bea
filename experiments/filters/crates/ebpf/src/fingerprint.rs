//! A number that tells things apart which are not the same by accident: 64 bits, FNV-1a.
//!
//! Source: Fowler, Noll, Vo and Eastlake, "The FNV Non-Cryptographic Hash Algorithm"
//! (draft-eastlake-fnv). It stays the same over builds and processes, and withstands no forger.

/// A fingerprint under way.
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Of nothing.
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// With `bytes` and their number added.
    pub fn with(self, bytes: &[u8]) -> Self {
        let length = (bytes.len() as u64).to_le_bytes();
        let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(length.iter().chain(bytes).fold(self.0, add))
    }

    /// The number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}
