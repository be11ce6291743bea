//! The addresses that a thread's connections go to, of those that each target has.

/// By target, the number of its addresses, and the one that the next connection goes to.
#[derive(Debug)]
pub struct Addresses(Vec<(usize, usize)>);

impl Addresses {
    /// Begin with the first address of each target; each has as many as `counts` says.
    pub fn new(counts: impl Iterator<Item = usize>) -> Self {
        Addresses(counts.map(|count| (count, 0)).collect())
    }

    /// The address that the target's next connection goes to.
    pub fn next(&self, target: usize) -> usize {
        self.0[target].1
    }

    /// Note that no connection was made to `address`. Return true if the target has one behind it,
    /// to which the next connection goes; after the last one it goes to the first.
    pub fn failed(&mut self, target: usize, address: usize) -> bool {
        let (count, next) = &mut self.0[target];
        if address + 1 == *count {
            *next = 0;
            return false;
        }
        // Another connection may have gone further.
        *next = (*next).max(address + 1);
        true
    }
}
