//! The events on the roles' sockets, by connection and by task.

use std::collections::{HashMap, HashSet};

use super::events::{Event, Kind};
use super::tasks::pieces;

/// enum tcp_state of the kernel: the first segment of a connection waits for its answer.
const SYN_SENT: u8 = 2;

/// A step of a connection of the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something came to the server's socket.
    Arrived,
    /// This task read it, up to this place in the connection's bytes.
    Read(u32, u32),
    /// This task wrote an answer, or a part of one, likewise.
    Written(u32, u32),
    /// The segment that begins the connection was sent again.
    BegunAgain,
}

/// The steps on each connection, and what each task was at.
#[derive(Debug, Default)]
pub struct Sockets {
    /// By the generator's port.
    steps: HashMap<u16, Vec<(u64, Step)>>,
    /// By task: the connection whose request it is at, from some time on.
    at: HashMap<u32, Vec<(u64, Option<u16>)>>,
    /// By task: true from the time on at which another server owes it an answer.
    asked: HashMap<u32, Vec<(u64, bool)>>,
}

impl Sockets {
    /// Sort events, which are in the order of their times; the roles listen on `ports`.
    pub fn of(events: &[Event], ports: &HashSet<u16>) -> Self {
        let mut sockets = Self::default();
        // Reads of other servers' answers: the next answer to the generator tells for whom.
        let mut open: HashMap<u32, usize> = HashMap::new();
        for Event { at, task, kind, .. } in events {
            let step = match kind {
                Kind::Arrived(of) => (of, Step::Arrived),
                Kind::Read(of, end) => (of, Step::Read(*task, *end)),
                Kind::Written(of, end) => (of, Step::Written(*task, *end)),
                Kind::SentAgain(of, SYN_SENT) => (of, Step::BegunAgain),
                _ => continue,
            };
            let (of, step) = step;
            let attention = sockets.at.entry(*task).or_default();
            if ports.contains(&of.own) {
                sockets.steps.entry(of.other).or_default().push((*at, step));
                match step {
                    Step::Read(..) => attention.push((*at, Some(of.other))),
                    Step::Written(..) => {
                        if let Some(index) = open.remove(task) {
                            attention[index].1 = Some(of.other);
                        }
                        attention.push((*at, None));
                    }
                    _ => {}
                }
                continue;
            }
            let asked = sockets.asked.entry(*task).or_default();
            match step {
                Step::Read(..) => {
                    open.insert(*task, attention.len());
                    attention.push((*at, None));
                    asked.push((*at, false));
                }
                Step::Written(..) => {
                    attention.push((*at, None));
                    asked.push((*at, true));
                }
                _ => {}
            }
        }
        sockets
    }

    /// The steps on a connection within a time.
    pub fn steps(&self, port: u16, from: u64, until: u64) -> &[(u64, Step)] {
        let steps = self.steps.get(&port).map_or(&[][..], Vec::as_slice);
        let begin = steps.partition_point(|(at, _)| *at < from);
        let end = steps.partition_point(|(at, _)| *at <= until);
        &steps[begin..end.max(begin)]
    }

    /// The pieces of a time: begin, end, and the connection whose request the task was at.
    pub fn at(&self, task: u32, from: u64, until: u64) -> Vec<(u64, u64, Option<u16>)> {
        let found = pieces(self.at.get(&task), from, until);
        found
            .into_iter()
            .map(|(begin, end, of)| (begin, end, of.flatten()))
            .collect()
    }

    /// True if the task has asked another server since `since`, and has no answer at `now`.
    pub fn is_asking(&self, task: u32, since: u64, now: u64) -> bool {
        let track = self.asked.get(&task).map_or(&[][..], Vec::as_slice);
        let end = track.partition_point(|(at, _)| *at <= now);
        track[..end]
            .last()
            .is_some_and(|(at, asked)| *asked && *at >= since)
    }
}
