//! The memory of requests and responses on their way, of all callers together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that may be held at once.
#[derive(Debug)]
pub struct Budget {
    most: usize,
    held: AtomicUsize,
}

impl Budget {
    /// At most so many bytes.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Budget {
            most,
            held: AtomicUsize::new(0),
        })
    }

    /// Return a share of it, which is empty at first.
    pub fn share(self: &Arc<Self>) -> Share {
        Share {
            budget: self.clone(),
            held: 0,
        }
    }
}

/// Bytes that one holder has, until it is dropped.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    held: usize,
}

impl Share {
    /// Hold so many bytes from now on. False, and nothing changed, if all holders together had too many.
    pub fn hold(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.held);
        let fits = |held: usize| {
            let held = held.checked_add(more)?;
            (more == 0 || held <= self.budget.most).then_some(held)
        };
        let order = Ordering::Relaxed;
        if self.budget.held.fetch_update(order, order, fits).is_err() {
            return false;
        }
        let less = self.held.saturating_sub(bytes);
        self.budget.held.fetch_sub(less, order);
        self.held = bytes;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.hold(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shares_together_hold_no_more_than_there_is() {
        let budget = Budget::new(10);
        let (mut one, mut two) = (budget.share(), budget.share());
        assert!(one.hold(7) && !two.hold(4) && two.hold(3));
        assert!(!one.hold(8) && one.hold(2) && two.hold(8));
        drop(one);
        assert!(two.hold(10) && !two.hold(11) && two.hold(0));
        assert!(!two.hold(usize::MAX) && budget.share().hold(10));
    }
}
