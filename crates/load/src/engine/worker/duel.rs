//! A duel as a worker keeps it: whose slice it is, and the answers of a round until it is known
//! whether the round counts.

use std::collections::BTreeMap;
use std::io;

use crate::engine::accounts::Accounts;
use crate::engine::duty::Sliced;
use crate::engine::rounds::Round;
use crate::engine::slices::Schedule;
use crate::engine::tally::{Tally, Times};

/// Time without load before the accounts are read, in nanoseconds. The kernel charges a group when its
/// task leaves the CPU, or up to 4 ms later: what has just answered must first have gone to sleep.
const SETTLE: u64 = 100_000;

/// CPU time of a target's groups in a round, in nanoseconds.
#[derive(Clone, Debug, Default)]
struct Used {
    roles: BTreeMap<String, u64>,
    /// Of it, in the slices of others.
    elsewhere: u64,
}

/// Times of requests and answers in a round, by target; it counts as a whole or not at all.
#[derive(Debug)]
pub struct Duel {
    pub schedule: Schedule,
    gap: u64,
    /// Times of the round's answers, and their targets.
    held: Vec<(usize, Times)>,
    /// The send lags of the round's requests, and their targets.
    lags: Vec<(usize, u64)>,
    /// Answers to the requests of the round's slices, and the time from the slices' begin to the last
    /// of these answers, by target.
    loads: Vec<(u64, u64)>,
    /// Correct answers of the round, by target.
    answers: Vec<u64>,
    /// The CPU time of each target.
    accounts: Vec<Accounts>,
    /// That of the round so far, in nanoseconds, by target.
    used: Vec<Used>,
    /// True if the generator lost time in this round.
    disturbed: bool,
    /// The time at which the round began.
    pub begin: u64,
    /// The time since which the slice's load is over.
    over: Option<u64>,
    /// The time of the last look at the sockets.
    pub looked: u64,
}

impl Duel {
    /// A duel that has not begun.
    ///
    /// # Errors
    /// When an account of CPU time cannot be read.
    pub fn new(sliced: Sliced) -> io::Result<Self> {
        let accounts: io::Result<Vec<_>> = sliced.accounts.iter().map(Accounts::open).collect();
        let targets = sliced.accounts.len();
        Ok(Duel {
            schedule: Schedule::new(sliced.slices, targets, sliced.random),
            gap: sliced.slices.gap,
            held: Vec::new(),
            lags: Vec::new(),
            loads: vec![(0, 0); targets],
            answers: vec![0; targets],
            accounts: accounts?,
            used: vec![Used::default(); targets],
            disturbed: false,
            begin: 0,
            over: None,
            looked: 0,
        })
    }

    /// Note a look at the sockets at `now`.
    pub fn look(&mut self, now: u64) {
        self.disturbed |= now - self.looked > self.gap;
        self.looked = now;
    }

    /// Count a correct answer.
    pub fn count(&mut self, target: usize) {
        self.answers[target] += 1;
    }

    /// Keep the times of an answer until the round has ended.
    pub fn hold(&mut self, target: usize, intended: u64, times: Times) {
        if intended < self.schedule.measured_from() {
            return;
        }
        self.held.push((target, times));
        self.loads[target].0 += 1;
    }

    /// Keep how late a request was sent, until the round has ended.
    pub fn hold_lag(&mut self, target: usize, intended: u64, lag: u64) {
        if intended >= self.schedule.measured_from() {
            self.lags.push((target, lag));
        }
    }

    /// Begin a slice at `now`; return its target.
    pub fn turn(&mut self, now: u64) -> usize {
        self.over = None;
        self.schedule.turn(now)
    }

    /// Return true if all that worked in the slice has had time to rest; its load is over at `now`.
    pub fn rests(&mut self, now: u64) -> bool {
        now - *self.over.get_or_insert(now) >= SETTLE
    }

    /// End the slice: its load lasted until now, and what was used since the last reading is its.
    pub fn end(&mut self) {
        let active = self.schedule.active();
        if let (Some(target), Some(over)) = (active, self.over) {
            self.loads[target].1 += over - self.schedule.measured_from();
        }
        for (target, accounts) in self.accounts.iter_mut().enumerate() {
            let own = &mut self.used[target];
            for (role, used) in accounts.read() {
                *own.roles.entry(role).or_default() += used;
                own.elsewhere += if active == Some(target) { 0 } else { used };
            }
        }
    }

    /// Begin a round at `now`; give the answers and the CPU time of the round before to `tallies`
    /// if it counts.
    pub fn close(&mut self, now: u64, counts: bool, tallies: &mut [Tally]) {
        let kept = counts && !self.disturbed;
        let targets = self.used.len();
        let used = std::mem::replace(&mut self.used, vec![Used::default(); targets]);
        if counts {
            for (tally, load) in tallies.iter_mut().zip(&self.loads) {
                tally.slices.end(*load, kept);
            }
            if kept {
                let part = |(used, requests): (Used, &u64)| Round {
                    requests: *requests,
                    cpu: used.roles,
                    elsewhere: used.elsewhere,
                    latencies: Vec::new(),
                };
                let mut parts: Vec<_> = used.into_iter().zip(&self.answers).map(part).collect();
                for (target, times) in &self.held {
                    tallies[*target].record(times);
                    parts[*target].latencies.push(times.latency as f32);
                }
                for (tally, part) in tallies.iter_mut().zip(parts) {
                    tally.rounds.push(part);
                }
                for (target, lag) in &self.lags {
                    tallies[*target].send_lag.saturating_record(*lag);
                }
            }
        }
        self.held.clear();
        self.lags.clear();
        self.loads.fill((0, 0));
        self.answers.fill(0);
        self.disturbed = false;
        self.begin = now;
    }
}
