//! The counts and histograms of a thread.

use hdrhistogram::Histogram;

use super::log::Replayed;
use super::rounds::Round;
use super::times::TimedAnswers;
use crate::protocol::{Answer, Failure, Kind};

/// Longest time that a histogram records, in nanoseconds: an hour.
const LONGEST: u64 = 3_600_000_000_000;

/// An empty histogram of nanoseconds with 3 significant digits, of constant size.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, 3).expect("constant bounds are valid")
}

/// Failures by kind and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures(Vec<(Failure, u64)>);

impl Failures {
    /// Count one failure.
    pub fn add(&mut self, failure: Failure) {
        self.count(failure, 1);
    }

    /// The number of failures of a kind.
    pub fn of(&self, kind: Kind) -> u64 {
        let some = self.0.iter().filter(|(failure, _)| failure.kind == kind);
        some.map(|(_, count)| count).sum()
    }

    /// The number of failures of all kinds.
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Each failure and its count.
    pub fn iter(&self) -> impl Iterator<Item = (Failure, u64)> {
        self.0.iter().copied()
    }

    /// Add another's counts.
    pub fn merge(&mut self, other: &Failures) {
        other
            .iter()
            .for_each(|(failure, count)| self.count(failure, count));
    }

    fn count(&mut self, failure: Failure, count: u64) {
        // Reasons are few: constants of the program, and two for each value to take.
        match self.0.iter_mut().find(|(known, _)| *known == failure) {
            Some((_, sum)) => *sum += count,
            None => self.0.push((failure, count)),
        }
    }
}

/// Requests whose connection ended before a byte of their answer came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// On connections that had carried answers.
    pub kept: u64,
    /// On connections that had not.
    pub new: u64,
}

/// Answers by status, and failures by kind.
#[derive(Clone, Debug)]
pub struct Counts {
    statuses: Box<[u64; 1000]>,
    /// The answers without a failure.
    pub correct: u64,
    /// The failures.
    pub failures: Failures,
    /// The requests that were lost with their connections, which are among the failures.
    pub lost: Lost,
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            statuses: Box::new([0; 1000]),
            correct: 0,
            failures: Failures::default(),
            lost: Lost::default(),
        }
    }
}

impl Counts {
    fn answer(&mut self, answer: &Answer) {
        self.statuses[usize::from(answer.status)] += 1;
        match answer.failure {
            Some(failure) => self.failures.add(failure),
            None => self.correct += 1,
        }
    }

    /// Each status and its count.
    pub fn statuses(&self) -> impl Iterator<Item = (usize, u64)> {
        let all = self.statuses.iter().copied().enumerate();
        all.filter(|(_, count)| *count > 0)
    }

    fn merge(&mut self, other: &Counts) {
        let pairs = self.statuses.iter_mut().zip(other.statuses.iter());
        pairs.for_each(|(sum, more)| *sum += more);
        self.correct += other.correct;
        self.failures.merge(&other.failures);
        self.lost.kept += other.lost.kept;
        self.lost.new += other.lost.new;
    }
}

/// The times of one answer, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// From the intended send to the last byte.
    pub latency: u64,
    /// From the actual send to the last byte.
    pub service: u64,
    /// From the actual send to the first byte.
    pub ttfb: u64,
}

/// The slices that a target had in the window of a duel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceCounts {
    /// All slices.
    pub all: u64,
    /// Those of rounds that count.
    pub kept: u64,
    /// Correct answers to the requests of the kept slices.
    pub answers: u64,
    /// Time from the kept slices' begin to the last of these answers, in nanoseconds.
    pub time: u64,
}

impl SliceCounts {
    /// Count a slice with its answers and its time.
    pub fn end(&mut self, (answers, time): (u64, u64), kept: bool) {
        self.all += 1;
        if kept {
            self.kept += 1;
            self.answers += answers;
            self.time += time;
        }
    }

    fn merge(&mut self, other: &SliceCounts) {
        self.all += other.all;
        self.kept += other.kept;
        self.answers += other.answers;
        self.time += other.time;
    }
}

/// The requests of the window, and the counts of the whole run.
#[derive(Clone, Debug)]
pub struct Tally {
    /// From the intended send to the answer, in nanoseconds; correct answers only.
    pub latency: Histogram<u64>,
    /// From the actual send to the answer, in nanoseconds; correct answers only.
    pub service: Histogram<u64>,
    /// From the actual send to the answer's first byte, in nanoseconds; correct answers only.
    pub ttfb: Histogram<u64>,
    /// From the intended to the actual send, in nanoseconds.
    pub send_lag: Histogram<u64>,
    /// From the first packet to the transport's connection, in nanoseconds; of the whole run.
    pub connect: Histogram<u64>,
    /// From then to the end of the handshake, in nanoseconds; of the whole run.
    pub handshake: Histogram<u64>,
    /// Requests of the window, answered or not.
    pub offered: u64,
    /// Answers that came within the window, whichever requests they are of.
    pub came: u64,
    /// Those of them without a failure.
    pub answered: u64,
    /// Requests of the window without an answer when the drain ended.
    pub unfinished: u64,
    /// Correct answers to requests of the window.
    pub correct: u64,
    /// Bytes of the window's correct answers.
    pub bytes: u64,
    /// Correct answers to requests of the window that a cache had, and that it had not.
    pub cached: (u64, u64),
    /// The replayed requests of a log.
    pub replayed: Replayed,
    /// The times of each answer, if they are kept.
    pub times: TimedAnswers,
    /// The slices of a duel.
    pub slices: SliceCounts,
    /// Its part of each kept round of a duel.
    pub rounds: Vec<Round>,
    /// Answers and failures of the window.
    pub window: Counts,
    /// Answers and failures from the first to the last.
    pub total: Counts,
    /// Requests in flight, integrated over the window, in nanoseconds.
    pub in_flight_area: i128,
    /// Share of one CPU used in the window by the thread that used most.
    pub busiest: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            latency: histogram(),
            service: histogram(),
            ttfb: histogram(),
            send_lag: histogram(),
            connect: histogram(),
            handshake: histogram(),
            offered: 0,
            came: 0,
            answered: 0,
            unfinished: 0,
            correct: 0,
            bytes: 0,
            cached: (0, 0),
            replayed: Replayed::default(),
            times: TimedAnswers::default(),
            slices: SliceCounts::default(),
            rounds: Vec::new(),
            window: Counts::default(),
            total: Counts::default(),
            in_flight_area: 0,
            busiest: 0.0,
        }
    }
}

impl Tally {
    /// Count an answer; return true if it is correct and in the window.
    pub fn answer(&mut self, answer: &Answer, in_window: bool) -> bool {
        self.total.answer(answer);
        if !in_window {
            return false;
        }
        self.offered += 1;
        self.window.answer(answer);
        let correct = answer.failure.is_none();
        if correct {
            self.correct += 1;
            self.bytes += answer.bytes;
            if let Some(hit) = answer.hit {
                self.cached.0 += u64::from(hit);
                self.cached.1 += u64::from(!hit);
            }
        }
        correct
    }

    /// Record the times of a correct answer.
    pub fn record(&mut self, times: &Times) {
        self.latency.saturating_record(times.latency);
        self.service.saturating_record(times.service);
        self.ttfb.saturating_record(times.ttfb);
    }

    /// Count a request that was never answered, and add the rest of its time in flight.
    pub fn unanswered(&mut self, area: u64, in_window: bool) {
        self.in_flight_area += i128::from(area);
        self.offered += u64::from(in_window);
        self.unfinished += u64::from(in_window);
    }

    /// Count a failure without an answer.
    pub fn failure(&mut self, failure: Failure, in_window: bool) {
        self.total.failures.add(failure);
        if in_window {
            self.window.failures.add(failure);
        }
    }

    /// Count a request of the whole run that was lost with its connection, which had carried answers
    /// or not.
    pub fn lost(&mut self, kept: bool) {
        self.total.lost.kept += u64::from(kept);
        self.total.lost.new += u64::from(!kept);
    }

    /// Add another thread's counts.
    pub fn merge(&mut self, other: &Tally) {
        let pairs = [
            (&mut self.latency, &other.latency),
            (&mut self.service, &other.service),
            (&mut self.ttfb, &other.ttfb),
            (&mut self.send_lag, &other.send_lag),
            (&mut self.connect, &other.connect),
            (&mut self.handshake, &other.handshake),
        ];
        for (sum, more) in pairs {
            sum.add(more).expect("all histograms have the same bounds");
        }
        self.offered += other.offered;
        self.came += other.came;
        self.answered += other.answered;
        self.unfinished += other.unfinished;
        self.correct += other.correct;
        self.bytes += other.bytes;
        self.cached.0 += other.cached.0;
        self.cached.1 += other.cached.1;
        self.replayed.merge(&other.replayed);
        self.times.merge(&other.times);
        self.slices.merge(&other.slices);
        self.rounds.extend_from_slice(&other.rounds);
        self.window.merge(&other.window);
        self.total.merge(&other.total);
        self.in_flight_area += other.in_flight_area;
        self.busiest = self.busiest.max(other.busiest);
    }
}
