//! A bound on the records of a second.

use std::time::Instant;

/// A bucket of as many records as a second may have, filled as time goes by.
pub struct Pace {
    rate: f64,
    left: f64,
    since: Instant,
}

impl Pace {
    /// Begin with a full bucket.
    pub fn new(rate: u32, now: Instant) -> Self {
        let rate = f64::from(rate);
        Pace {
            rate,
            left: rate,
            since: now,
        }
    }

    /// Take one record from the bucket. Return false if there is none.
    pub fn lets_through(&mut self, now: Instant) -> bool {
        let earned = now.saturating_duration_since(self.since).as_secs_f64() * self.rate;
        self.left = (self.left + earned).min(self.rate);
        self.since = now;
        let there = self.left >= 1.0;
        if there {
            self.left -= 1.0;
        }
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn as_many_as_a_second_may_have_go_through_and_then_one_at_a_time() {
        let begun = Instant::now();
        let mut pace = Pace::new(10, begun);
        let at = |ms| begun + Duration::from_millis(ms);
        let through = |pace: &mut Pace, ms| (0..50).filter(|_| pace.lets_through(at(ms))).count();
        assert_eq!(through(&mut pace, 0), 10);
        assert_eq!(through(&mut pace, 50), 0);
        assert_eq!(through(&mut pace, 250), 2);
        assert_eq!(through(&mut pace, 60_000), 10);
        // A clock that goes back earns nothing.
        assert_eq!(through(&mut pace, 10), 0);
    }
}
