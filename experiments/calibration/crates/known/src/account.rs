//! The server's own account of its CPU time: what it needed for itself, and what it burnt on top.

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the calling thread so far, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CPU time in nanoseconds, and answers, since the server began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Answers to `/`.
    pub requests: u64,
    /// CPU time that was burnt on top.
    pub burnt_ns: u64,
    /// CPU time that was owed at the last payment and is not burnt yet; negative where too much was.
    pub owed_ns: f64,
    last_ns: u64,
}

impl Account {
    /// Return what is owed at this moment in nanoseconds, 0 or less for nothing: `percent` of all CPU time since
    /// the last call that was not burnt.
    pub fn owe(&mut self, now_ns: u64, percent: f64) -> f64 {
        let own = now_ns.saturating_sub(self.last_ns);
        self.last_ns = now_ns;
        self.owed_ns += own as f64 * percent / 100.0;
        self.owed_ns
    }

    /// Enter CPU time that was burnt from the last `owe` until `now_ns`.
    pub fn burnt(&mut self, now_ns: u64) {
        let paid = now_ns.saturating_sub(self.last_ns);
        self.last_ns = now_ns;
        self.burnt_ns += paid;
        self.owed_ns -= paid as f64;
    }

    /// The account as a JSON object; `now_ns` is the thread's CPU time.
    pub fn to_json(&self, now_ns: u64) -> String {
        format!(
            r#"{{"requests": {}, "own_ns": {}, "burnt_ns": {}}}"#,
            self.requests,
            now_ns.saturating_sub(self.burnt_ns),
            self.burnt_ns
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Burning overshoots by as much as a look at the clock takes.
        #[test]
        fn what_is_burnt_is_the_share_of_ones_own(
            steps in prop::collection::vec((1_u64..50_000, 0_u64..900), 1..400),
            percent in 0.0..50.0_f64,
        ) {
            let (mut account, mut now, mut own) = (Account::default(), 0, 0);
            for (work, overshoot) in steps {
                now += work;
                own += work;
                let owed = account.owe(now, percent);
                if owed > 0.0 {
                    now += owed.ceil() as u64 + overshoot;
                    account.burnt(now);
                }
            }
            let wanted = own as f64 * percent / 100.0;
            prop_assert!(account.burnt_ns as f64 >= wanted - 1.0);
            prop_assert!(account.burnt_ns as f64 <= wanted + 902.0);
        }
    }

    #[test]
    fn nothing_is_owed_for_what_was_burnt() {
        let mut account = Account::default();
        assert_eq!(account.owe(1000, 10.0), 100.0);
        account.burnt(1100);
        assert_eq!(account.owe(1100, 10.0), 0.0);
        assert_eq!(
            account.to_json(1100),
            r#"{"requests": 0, "own_ns": 1000, "burnt_ns": 100}"#
        );
    }
}
