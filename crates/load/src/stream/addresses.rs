//! The addresses that a thread's connections go to, of those that each target has.

/// By target, the number of its addresses, and the one that the next connection tries first.
#[derive(Debug)]
pub struct Addresses(Vec<(usize, usize)>);

impl Addresses {
    /// Begin with the first address of each target; each has as many as `counts` says.
    pub fn new(counts: impl Iterator<Item = usize>) -> Self {
        Addresses(counts.map(|count| (count, 0)).collect())
    }

    /// The order in which the target's next connection tries its addresses.
    pub fn order(&self, target: usize) -> Order {
        let (count, first) = self.0[target];
        Order::from(first, count)
    }

    /// Note that a connection was made to `address`: the next one begins there.
    pub fn reached(&mut self, target: usize, address: usize) {
        self.0[target].1 = address;
    }

    /// Note that none of the target's addresses could be reached: the next connection begins anew.
    pub fn failed(&mut self, target: usize) {
        self.0[target].1 = 0;
    }
}

/// The addresses that are still to be tried, each once.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    next: usize,
    left: usize,
    count: usize,
}

impl Order {
    /// All of `count` addresses from `first` on, and then those before it.
    pub fn from(first: usize, count: usize) -> Self {
        Order {
            next: first,
            left: count,
            count,
        }
    }

    /// Return true if none is left.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }
}

impl Iterator for Order {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let address = self.next;
        self.next = (address + 1) % self.count;
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_begins_where_the_last_one_was_made() {
        let mut addresses = Addresses::new([1, 3].into_iter());
        let order = |addresses: &Addresses| addresses.order(1).collect::<Vec<_>>();
        assert_eq!(order(&addresses), [0, 1, 2]);
        addresses.reached(1, 2);
        assert_eq!(order(&addresses), [2, 0, 1]);
        assert_eq!(addresses.order(0).collect::<Vec<_>>(), [0]);
        addresses.failed(1);
        assert_eq!(order(&addresses), [0, 1, 2]);
    }
}
