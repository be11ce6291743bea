//! The server's own account of its CPU time: what it needed for itself, and what it burnt on top.

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the calling thread so far, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CPU time in nanoseconds, and answers, since the server began.
///
/// The clock is looked at twice for each answer, before and after what may be burnt. The time between the looks of an
/// answer that burns nothing is what looking takes, and the rest of an answer that burns is what it burnt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Answers to `/`.
    pub requests: u64,
    /// CPU time that was burnt on top.
    pub burnt_ns: f64,
    /// CPU time that is to be burnt; negative where too much was.
    pub owed_ns: f64,
    last_ns: u64,
    idle_looks: u64,
    idle_looks_ns: u64,
}

/// Answers that burn nothing, before it is known how long looking takes.
const FIRST_LOOKS: u64 = 32;

impl Account {
    /// Look at the clock before anything is burnt: `percent` of all CPU time since the last look is owed. Return what
    /// is to be burnt now in nanoseconds; every second answer burns nothing.
    pub fn owe(&mut self, now_ns: u64, percent: f64) -> f64 {
        self.add(self.since(now_ns), percent);
        self.last_ns = now_ns;
        if self.requests % 2 == 0 || self.idle_looks < FIRST_LOOKS {
            return 0.0;
        }
        self.owed_ns.max(0.0)
    }

    /// Look at the clock again, after so much was to be burnt.
    pub fn paid(&mut self, now_ns: u64, percent: f64, burnt_ns: f64) {
        let between = self.since(now_ns);
        self.last_ns = now_ns;
        if burnt_ns > 0.0 {
            let looking = self.idle_looks_ns as f64 / self.idle_looks as f64;
            self.burnt_ns += between - looking;
            self.owed_ns -= between - looking;
            self.add(looking, percent);
        } else {
            self.idle_looks += 1;
            self.idle_looks_ns += between as u64;
            self.add(between, percent);
        }
    }

    fn since(&self, now_ns: u64) -> f64 {
        now_ns.saturating_sub(self.last_ns) as f64
    }

    fn add(&mut self, own_ns: f64, percent: f64) {
        self.owed_ns += own_ns * percent / 100.0;
    }

    /// The account as a JSON object; `now_ns` is the thread's CPU time.
    pub fn to_json(&self, now_ns: u64) -> String {
        let burnt = self.burnt_ns.max(0.0).round() as u64;
        format!(
            r#"{{"requests": {}, "own_ns": {}, "burnt_ns": {burnt}}}"#,
            self.requests,
            now_ns.saturating_sub(burnt),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOOK: u64 = 300;

    proptest! {
        #[test]
        fn what_is_burnt_is_the_share_of_ones_own(
            steps in prop::collection::vec((1_u64..50_000, 0_u64..900), 100..400),
            percent in 0.0..50.0_f64,
        ) {
            let (mut account, mut now, mut truly) = (Account::default(), 0, 0);
            for (work, overshoot) in steps {
                account.requests += 1;
                now += work;
                let owed = account.owe(now, percent);
                now += LOOK;
                if owed > 0.0 {
                    now += owed.ceil() as u64 + overshoot;
                    truly += owed.ceil() as u64 + overshoot;
                }
                account.paid(now, percent, owed);
            }
            prop_assert!((account.burnt_ns - truly as f64).abs() < 1.0);
            let wanted = (now - truly) as f64 * percent / 100.0;
            // What the last two answers owe is not burnt yet, and burning overshoots.
            prop_assert!(account.burnt_ns <= wanted + 902.0);
            prop_assert!(account.burnt_ns >= wanted - 2.0 * 51_000.0 * percent / 100.0 - 1.0);
        }
    }

    #[test]
    fn nothing_is_burnt_before_looking_is_known_nor_twice_in_a_row() {
        let (mut account, mut now) = (Account::default(), 0);
        let mut burning = Vec::new();
        for answer in 1..=40 {
            account.requests += 1;
            now += 1000;
            let owed = account.owe(now, 10.0);
            if owed > 0.0 {
                burning.push(answer);
            }
            now += LOOK + owed as u64;
            account.paid(now, 10.0, owed);
        }
        assert_eq!(burning, [33, 35, 37, 39]);
    }

    #[test]
    fn an_account_is_told_in_json() {
        let account = Account {
            requests: 3,
            burnt_ns: 99.6,
            ..Account::default()
        };
        assert_eq!(
            account.to_json(1100),
            r#"{"requests": 3, "own_ns": 1000, "burnt_ns": 100}"#
        );
    }
}
