//! Numbers that look random and repeat.

/// A small generator of numbers (SplitMix64), seeded so that failures repeat.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.next() % most + 1;
        (0..length).map(|_| self.next() as u8).collect()
    }
}
