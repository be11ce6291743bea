//! The time at which a connection that is being made tries another address (RFC 8305, section 5).

use std::time::{Duration, Instant};

use super::addresses::Order;

/// Time after which the next address is tried beside those that have not answered: the RFC's
/// "Connection Attempt Delay".
const DELAY: Duration = Duration::from_millis(250);

/// The attempts that are still to come.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    order: Order,
    next_at: Option<Instant>,
}

impl Race {
    /// The attempts at the addresses of `order`.
    pub fn new(order: Order) -> Self {
        Race {
            order,
            next_at: None,
        }
    }

    /// The time at which the next attempt is due, if one is to come.
    pub fn timer(&self) -> Option<Instant> {
        self.next_at
    }

    /// Begin the next attempt that can begin, with `attempt`.
    ///
    /// # Errors
    /// The error of the last one; none if none was left.
    pub fn begin<T, E>(
        &mut self,
        mut attempt: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<T, Option<E>> {
        let mut error = None;
        let begun = self
            .order
            .by_ref()
            .find_map(|address| attempt(address).map_err(|why| error = Some(why)).ok());
        // A sole address needs no clock.
        self.next_at = (!self.order.is_over()).then(|| Instant::now() + DELAY);
        begun.ok_or(error)
    }
}
