//! The known costs of a request, and when they are paid.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::account::{Account, thread_cpu_ns};
use crate::drift::Drift;

/// The costs that the server was told to have.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Percent of the server's own CPU time, burnt on top of it.
    pub cpu_percent: f64,
    /// Time that every answer waits, with the CPU busy.
    pub delay: Duration,
    /// Every answer of this number is a 500; 0: none.
    pub error_every: u64,
    /// A sleep of the whole server, and how often.
    pub stall: Option<(Duration, Duration)>,
    /// The cost that all servers pay alike.
    pub drift: Drift,
}

/// The costs, and what of them is paid.
#[derive(Debug)]
pub struct Burden {
    costs: Costs,
    next_stall: Instant,
    /// The costs that were paid.
    pub account: Account,
}

impl Burden {
    /// Begin to pay these costs.
    pub fn new(costs: Costs) -> Self {
        let next_stall = Instant::now() + costs.stall.map_or(Duration::ZERO, |(_, every)| every);
        Self {
            costs,
            next_stall,
            account: Account::default(),
        }
    }

    /// Pay for one answer before it is sent. Return whether it is a right one.
    pub fn pay(&mut self) -> bool {
        self.account.requests += 1;
        self.stall();
        // Without a delay nothing may be paid, and a look at the clock is something.
        if !self.costs.delay.is_zero() {
            let until = Instant::now() + self.costs.delay;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
        // Servers with and without costs do all of this alike, so that nothing of it is a cost but the burning.
        let percent = self.costs.cpu_percent + self.costs.drift.at(monotonic_s());
        let owed = self.account.owe(thread_cpu_ns(), percent);
        burn(owed);
        self.account.paid(thread_cpu_ns(), percent, owed);
        self.costs.error_every == 0 || self.account.requests % self.costs.error_every != 0
    }

    fn stall(&mut self) {
        let Some((duration, every)) = self.costs.stall else {
            return;
        };
        if Instant::now() >= self.next_stall {
            sleep(duration);
            self.next_stall = Instant::now() + every;
        }
    }
}

/// Keep the CPU busy for so long, without a system call: one would make those that follow cheaper.
fn burn(ns: f64) {
    let (from, time) = (Instant::now(), Duration::from_nanos(ns as u64));
    while from.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn monotonic_s() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Costs = Costs {
        cpu_percent: 0.0,
        delay: Duration::ZERO,
        error_every: 0,
        stall: None,
        drift: Drift {
            percent: 0.0,
            period_s: 60.0,
        },
    };

    fn work() {
        let mut sum = 0_u64;
        for number in 0..20_000 {
            sum = std::hint::black_box(sum + number);
        }
    }

    #[test]
    fn the_share_is_kept_whatever_the_work_is() {
        let mut burden = Burden::new(Costs {
            cpu_percent: 25.0,
            ..FREE
        });
        for _ in 0..300 {
            work();
            burden.pay();
        }
        let own = thread_cpu_ns() as f64 - burden.account.burnt_ns;
        let share = burden.account.burnt_ns / own;
        assert!((0.24..0.27).contains(&share), "{share}");
    }

    #[test]
    fn without_costs_nothing_is_burnt() {
        let mut burden = Burden::new(FREE);
        for _ in 0..10 {
            work();
            assert!(burden.pay());
        }
        assert_eq!(
            (burden.account.requests, burden.account.burnt_ns),
            (10, 0.0)
        );
    }

    #[test]
    fn one_in_so_many_is_an_error() {
        let mut burden = Burden::new(Costs {
            error_every: 4,
            ..FREE
        });
        let right: Vec<bool> = (0..8).map(|_| burden.pay()).collect();
        assert_eq!(right, [true, true, true, false, true, true, true, false]);
    }
}
