//! The outcome of a keeper's starts of workers so far, and the time of the next.

use std::time::{Duration, Instant};

/// Wait before the next start after one that failed; doubled with each that fails.
const BACK_OFF: Duration = Duration::from_millis(10);
const BACK_OFF_DOUBLINGS: u32 = 7;
/// Failed starts in a row after which calls fail, once any start has succeeded.
const DESPERATE: u32 = 3;

/// The starts of one keeper.
#[derive(Debug, Default)]
pub struct Starts {
    not_before: Option<Instant>,
    failures: u32,
    successes: bool,
    /// The finding about the workers' starter since the last success.
    pub finding: Option<String>,
}

impl Starts {
    /// Note one that succeeded.
    pub fn succeeded(&mut self) {
        *self = Starts {
            successes: true,
            ..Starts::default()
        };
    }

    /// Note one that failed. Return true if calls are not to wait for the next one.
    pub fn failed(&mut self) -> bool {
        let hopeless = self.are_nearly_hopeless();
        self.failures += 1;
        let wait = BACK_OFF * (1 << self.failures.min(BACK_OFF_DOUBLINGS));
        self.not_before = Some(Instant::now() + wait);
        hopeless
    }

    /// Return true if calls are not to wait any longer once one more has failed.
    pub fn are_nearly_hopeless(&self) -> bool {
        !self.successes || self.failures + 1 >= DESPERATE
    }

    /// Return true if the next one has to wait.
    pub fn must_wait(&self) -> bool {
        self.not_before.is_some_and(|time| Instant::now() < time)
    }

    /// Return the time of the next one.
    pub fn next(&self) -> Instant {
        self.not_before.unwrap_or_else(Instant::now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_or_the_third_after_a_success_leaves_no_hope() {
        let mut starts = Starts::default();
        assert!(!starts.must_wait() && starts.failed() && starts.must_wait());
        starts.succeeded();
        assert!(!starts.must_wait());
        assert_eq!(
            [(); 4].map(|()| starts.failed()),
            [false, false, true, true]
        );
    }
}
