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
    /// Sort events, which are in the order of their times; the roles listen on `ports`. With `shared`, a connection
    /// has several requests in flight.
    pub fn of(events: &[Event], ports: &HashSet<u16>, shared: bool) -> Self {
        let mut sockets = Self::default();
        // Reads of other servers' answers: the next answer to the generator tells for whom.
        let mut open: HashMap<u32, usize> = HashMap::new();
        // By connection: the task that read last, and since then the one that wrote, and where that stands.
        let mut readers: HashMap<u16, u32> = HashMap::new();
        let mut writers: HashMap<u16, (u32, usize)> = HashMap::new();
        for Event { at, task, kind, .. } in events {
            let step = match kind {
                Kind::Arrived(of) => (of, Step::Arrived),
                Kind::Read(of, end) => (of, Step::Read(*task, *end)),
                Kind::Written(of, end) => (of, Step::Written(*task, *end)),
                Kind::SentAgain(of, SYN_SENT) => (of, Step::BegunAgain),
                _ => continue,
            };
            let (of, step) = step;
            if ports.contains(&of.own) {
                sockets.steps.entry(of.other).or_default().push((*at, step));
                match step {
                    Step::Read(..) => {
                        readers.insert(of.other, *task);
                        writers.remove(&of.other);
                        let attention = sockets.at.entry(*task).or_default();
                        attention.push((*at, Some(of.other)));
                    }
                    Step::Written(..) => {
                        let reader = readers.remove(&of.other);
                        if let Some(reader) = reader.filter(|reader| reader != task && !shared) {
                            sockets.leave(reader, of.other, *at);
                        }
                        let attention = sockets.at.entry(*task).or_default();
                        if let Some(index) = open.remove(task) {
                            attention[index].1 = Some(of.other);
                        }
                        let part = writers.insert(of.other, (*task, attention.len()));
                        // What was written before was no whole answer: the task has been at it since.
                        if let Some((_, index)) = part.filter(|part| part.0 == *task)
                            && index + 1 == attention.len()
                        {
                            attention[index].1 = Some(of.other);
                        }
                        attention.push((*at, None));
                    }
                    _ => {}
                }
                continue;
            }
            let attention = sockets.at.entry(*task).or_default();
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

    /// A task that has read a request is at it no more when another has answered it.
    fn leave(&mut self, reader: u32, port: u16, at: u64) {
        let attention = self.at.entry(reader).or_default();
        if attention.last().is_some_and(|(_, of)| *of == Some(port)) {
            attention.push((at, None));
        }
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

#[cfg(test)]
mod tests {
    use super::super::events::{FOREIGN, Ports};
    use super::*;

    const SERVER: u16 = 80;

    type Of = fn(Ports, u32) -> Kind;

    fn seen(events: &[(u64, u32, Of)], shared: bool) -> Sockets {
        let on = Ports {
            own: SERVER,
            other: 51,
        };
        let events: Vec<_> = events
            .iter()
            .map(|(at, task, kind)| Event {
                at: *at,
                cpu: 0,
                task: *task,
                role: FOREIGN,
                kind: kind(on, 0),
            })
            .collect();
        Sockets::of(&events, &[SERVER].into(), shared)
    }

    #[test]
    fn a_task_is_at_no_request_that_another_has_answered() {
        let events: [(_, _, Of); 2] = [(10, 1, Kind::Read), (20, 2, Kind::Written)];
        let alone = seen(&events, false);
        assert_eq!(alone.at(1, 10, 90), [(10, 20, Some(51)), (20, 90, None)]);
        // Another request of the connection may be under way.
        assert_eq!(seen(&events, true).at(1, 10, 90), [(10, 90, Some(51))]);
    }

    #[test]
    fn a_task_is_at_a_request_until_the_last_part_of_its_answer() {
        let events: [(_, _, Of); 5] = [
            (10, 1, Kind::Read),
            (20, 1, Kind::Written),
            (50, 1, Kind::Written),
            (60, 1, Kind::Read),
            (70, 1, Kind::Written),
        ];
        assert_eq!(
            seen(&events, false).at(1, 10, 90),
            [
                (10, 20, Some(51)),
                (20, 50, Some(51)),
                (50, 60, None),
                (60, 70, Some(51)),
                (70, 90, None)
            ]
        );
    }
}
