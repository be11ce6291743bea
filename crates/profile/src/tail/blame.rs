//! Divides a request's time among its causes.

use std::collections::BTreeMap;

use super::causes::Cause;
use super::requests::{Request, Requests};
use super::sockets::{Sockets, Step};
use super::tasks::{Ran, State, Tasks};

/// The nanoseconds that each cause took.
pub type Parts = BTreeMap<Cause, u64>;

/// All that was seen.
#[derive(Debug)]
pub struct Seen {
    /// The roles' tasks.
    pub tasks: Tasks,
    /// Their sockets.
    pub sockets: Sockets,
    /// The generator's requests.
    pub requests: Requests,
}

/// The phases of a request at the server; each ends where the next one begins.
struct Phases {
    arrived: u64,
    read: u64,
    written: u64,
    reader: u32,
    writer: u32,
}

impl Seen {
    /// The parts of a request's time, from its intended send to its answer; they add up to it.
    pub fn parts(&self, request: &Request) -> Parts {
        let mut parts = Parts::new();
        self.sent(request, request.sent, request.answered, &mut parts);
        self.unsent(request, &mut parts);
        parts
    }

    /// The time before it was sent: that of the requests before it on its connection.
    fn unsent(&self, request: &Request, parts: &mut Parts) {
        let (from, mut until) = (request.intended, request.sent);
        let mut later = *request;
        while until > from {
            let Some(before) = self.requests.before(&later) else {
                let connected = later.connected.clamp(from, until);
                let opened = later.opened.clamp(from, connected);
                add(parts, Cause::Generator, until - connected);
                add(parts, self.connecting(&later), connected - opened);
                add(parts, Cause::NoConnection, opened - from);
                return;
            };
            let answered = before.answered.clamp(from, until);
            let sent = before.sent.clamp(from, answered);
            add(parts, Cause::Generator, until - answered);
            self.sent(before, sent, answered, parts);
            (until, later) = (sent, *before);
        }
    }

    fn connecting(&self, request: &Request) -> Cause {
        let steps = self
            .sockets
            .steps(request.port, request.opened, request.connected);
        match steps.iter().any(|(_, step)| *step == Step::BegunAgain) {
            true => Cause::Resent,
            false => Cause::Connecting,
        }
    }

    /// A part of the time from its send to its answer.
    fn sent(&self, request: &Request, from: u64, until: u64, parts: &mut Parts) {
        let Some(phases) = self.phases(request) else {
            return add(parts, Cause::Unseen, until - from);
        };
        let within = |begin: u64, end: u64| (begin.clamp(from, until), end.clamp(from, until));
        let Phases {
            arrived,
            read,
            written,
            reader,
            writer,
        } = phases;
        let (begin, end) = within(request.sent, arrived);
        add(parts, Cause::Sending, end - begin);
        let (begin, end) = within(arrived, read);
        self.queued(reader, begin, end, parts);
        // Another task may write the answer: the first one's part ends when it is woken to do so.
        let handed = match reader == writer {
            true => written,
            false => self
                .tasks
                .first_woken(writer, read, written)
                .unwrap_or(read),
        };
        let (begin, end) = within(read, handed);
        self.served(request, reader, read, (begin, end), parts);
        let (begin, end) = within(handed, written);
        self.served(request, writer, read, (begin, end), parts);
        let (begin, end) = within(written, request.answered);
        add(parts, Cause::Returning, end - begin);
    }

    fn phases(&self, request: &Request) -> Option<Phases> {
        let steps = self
            .sockets
            .steps(request.port, request.sent, request.answered);
        let [end, answer_end] = request.ends;
        let (read, reader) = steps.iter().find_map(|(at, step)| match step {
            Step::Read(task, place) if end == 0 || has_reached(*place, end) => Some((*at, *task)),
            _ => None,
        })?;
        let arrived = steps.iter().find(|(_, step)| *step == Step::Arrived);
        let arrived = arrived.map_or(request.sent, |(at, _)| (*at).min(read));
        let mut writes = steps.iter().filter_map(|(at, step)| match step {
            Step::Written(task, place) if *at >= read => Some((*at, *task, *place)),
            _ => None,
        });
        let last = match answer_end {
            0 => writes.next_back(),
            end => writes.find(|(_, _, place)| has_reached(*place, end)),
        };
        let (written, writer) = match last {
            Some((at, task, _)) => (at, task),
            None => (
                request.answered,
                self.late_writer(request).unwrap_or(reader),
            ),
        };
        Some(Phases {
            arrived,
            read,
            written,
            reader,
            writer,
        })
    }

    /// The task that wrote the answer in a call that ended only when the generator had it already.
    fn late_writer(&self, request: &Request) -> Option<u32> {
        let (_, step) = self
            .sockets
            .steps(request.port, request.answered + 1, u64::MAX)
            .iter()
            .find(|(_, step)| matches!(step, Step::Read(..) | Step::Written(..)))?;
        // A write behind the next read is another answer's.
        let Step::Written(task, place) = *step else {
            return None;
        };
        let [_, end] = request.ends;
        (end == 0 || has_reached(place, end)).then_some(task)
    }

    /// Its bytes lie in the socket, and the task that will read them does something else.
    fn queued(&self, task: u32, from: u64, until: u64, parts: &mut Parts) {
        for (begin, end, state) in self.tasks.states(task, from, until) {
            let Some(State::Running(cpu)) = state else {
                self.waited(task, (begin, end, state), false, parts);
                continue;
            };
            for (begin, end, other) in self.sockets.at(task, begin, end) {
                let cause = match other {
                    Some(_) => Cause::OtherRequest,
                    None => Cause::Housekeeping,
                };
                self.on_cpu(cpu, begin, end, &cause, parts);
            }
        }
    }

    /// The task has read it, at `read`, and has not written the answer.
    fn served(&self, request: &Request, task: u32, read: u64, of: (u64, u64), parts: &mut Parts) {
        for (begin, end, state) in self.tasks.states(task, of.0, of.1) {
            let Some(State::Running(cpu)) = state else {
                let asking = self.sockets.is_asking(task, read, begin);
                self.waited(task, (begin, end, state), asking, parts);
                continue;
            };
            for (begin, end, at) in self.sockets.at(task, begin, end) {
                let cause = match at {
                    Some(port) if port != request.port => Cause::OtherRequest,
                    _ if self.requests.has_others(request, begin, end) => Cause::Shared,
                    _ => Cause::Own,
                };
                self.on_cpu(cpu, begin, end, &cause, parts);
            }
        }
    }

    /// A task had the CPU, or none had; the hypervisor and softirqs may have taken it meanwhile.
    fn on_cpu(&self, cpu: u16, from: u64, until: u64, cause: &Cause, parts: &mut Parts) {
        for (begin, end, by) in self.tasks.taken(cpu, from, until) {
            let cause = by.map_or_else(|| cause.clone(), Cause::of_taken);
            add(parts, cause, end - begin);
        }
    }

    /// The task did not run.
    fn waited(
        &self,
        task: u32,
        (begin, end, state): (u64, u64, Option<State>),
        asking: bool,
        parts: &mut Parts,
    ) {
        match state {
            Some(State::Queued(cpu)) => {
                for (begin, end, ran) in self.tasks.ran(cpu, begin, end) {
                    self.on_cpu(cpu, begin, end, &self.behind(task, ran), parts);
                }
            }
            Some(State::Blocked(call)) => add(parts, Cause::of_call(call, asking), end - begin),
            Some(State::Disk) => add(parts, Cause::Disk, end - begin),
            Some(State::Held) => add(parts, Cause::Held, end - begin),
            Some(State::Running(_)) | None => add(parts, Cause::Unseen, end - begin),
        }
    }

    /// The one that had the CPU for which a task waited.
    fn behind(&self, task: u32, ran: Option<Ran>) -> Cause {
        match ran {
            None => Cause::Unseen,
            Some(ran) if ran.task == 0 => Cause::Idle,
            // It moved to another CPU in the meantime.
            Some(ran) if ran.task == task => Cause::Own,
            Some(ran) => {
                let end = ran.name.iter().position(|byte| *byte == 0);
                let name = &ran.name[..end.unwrap_or(ran.name.len())];
                let own = self.tasks.share_role(task, &ran);
                Cause::RunQueue(printable(name), own)
            }
        }
    }
}

/// A name that no terminal obeys: a task may give itself any.
fn printable(name: &[u8]) -> String {
    let shown = |letter: char| match letter.is_control() {
        true => char::REPLACEMENT_CHARACTER,
        false => letter,
    };
    String::from_utf8_lossy(name).chars().map(shown).collect()
}

/// True if a socket's bytes, of whose number this is the lower half, go beyond a place.
fn has_reached(reach: u32, place: u64) -> bool {
    reach.wrapping_sub(place as u32) < u32::MAX / 2
}

fn add(parts: &mut Parts, cause: Cause, ns: u64) {
    if ns > 0 {
        *parts.entry(cause).or_default() += ns;
    }
}

#[cfg(test)]
mod tests;
