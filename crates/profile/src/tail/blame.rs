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
            false => self.tasks.last_begun(writer, read, written).unwrap_or(read),
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
        let (read, reader) = steps.iter().find_map(|(at, step)| match step {
            Step::Read(task) => Some((*at, *task)),
            _ => None,
        })?;
        let arrived = steps.iter().find(|(_, step)| *step == Step::Arrived);
        let arrived = arrived.map_or(request.sent, |(at, _)| (*at).min(read));
        let last = steps.iter().rev().find_map(|(at, step)| match step {
            Step::Written(task) if *at >= read => Some((*at, *task)),
            _ => None,
        });
        let (written, writer) = last.unwrap_or((request.answered, reader));
        Some(Phases {
            arrived,
            read,
            written,
            reader,
            writer,
        })
    }

    /// Its bytes lie in the socket, and the task that will read them does something else.
    fn queued(&self, task: u32, from: u64, until: u64, parts: &mut Parts) {
        for (begin, end, state) in self.tasks.states(task, from, until) {
            if state != Some(State::Running) {
                self.waited(task, (begin, end, state), false, parts);
                continue;
            }
            for (begin, end, other) in self.sockets.at(task, begin, end) {
                let cause = match other {
                    Some(_) => Cause::OtherRequest,
                    None => Cause::Housekeeping,
                };
                add(parts, cause, end - begin);
            }
        }
    }

    /// The task has read it, at `read`, and has not written the answer.
    fn served(&self, request: &Request, task: u32, read: u64, of: (u64, u64), parts: &mut Parts) {
        for (begin, end, state) in self.tasks.states(task, of.0, of.1) {
            if state != Some(State::Running) {
                let asking = self.sockets.is_asking(task, read, begin);
                self.waited(task, (begin, end, state), asking, parts);
                continue;
            }
            for (begin, end, at) in self.sockets.at(task, begin, end) {
                let cause = match at {
                    Some(port) if port != request.port => Cause::OtherRequest,
                    _ => Cause::Own,
                };
                add(parts, cause, end - begin);
            }
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
                    add(parts, behind(task, ran), end - begin);
                }
            }
            Some(State::Blocked(call)) => add(parts, Cause::of_call(call, asking), end - begin),
            Some(State::Disk) => add(parts, Cause::Disk, end - begin),
            Some(State::Held) => add(parts, Cause::Held, end - begin),
            Some(State::Running) | None => add(parts, Cause::Unseen, end - begin),
        }
    }
}

/// The one that had the CPU for which a task waited.
fn behind(task: u32, ran: Option<Ran>) -> Cause {
    match ran {
        None => Cause::Unseen,
        Some(ran) if ran.task == 0 => Cause::Idle,
        // It moved to another CPU in the meantime.
        Some(ran) if ran.task == task => Cause::Own,
        Some(ran) => {
            let end = ran.name.iter().position(|byte| *byte == 0);
            let name = &ran.name[..end.unwrap_or(ran.name.len())];
            Cause::RunQueue(String::from_utf8_lossy(name).into_owned(), ran.own)
        }
    }
}

fn add(parts: &mut Parts, cause: Cause, ns: u64) {
    if ns > 0 {
        *parts.entry(cause).or_default() += ns;
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{Event, FOREIGN, Kind, Left, Ports};
    use super::*;

    const SERVER: u16 = 80;
    /// Two tasks of the server.
    const ONE: u32 = 1;
    const TWO: u32 = 2;
    const SYN_SENT: u8 = 2;

    fn event(at: u64, task: u32, kind: Kind) -> Event {
        let role = if [ONE, TWO].contains(&task) {
            0
        } else {
            FOREIGN
        };
        Event {
            at,
            cpu: 0,
            task,
            role,
            kind,
        }
    }

    fn switched(at: u64, task: u32, left: Left, next: u32) -> Event {
        let mut name = [0; 16];
        name[..5].copy_from_slice(if next > TWO { b"noisy" } else { b"serve" });
        let next_role = if [ONE, TWO].contains(&next) {
            0
        } else {
            FOREIGN
        };
        event(
            at,
            task,
            Kind::Switched {
                left,
                next,
                next_role,
                name,
            },
        )
    }

    fn on(port: u16) -> Ports {
        Ports {
            own: SERVER,
            other: port,
        }
    }

    fn futex() -> Left {
        Left::Blocked(Some(syscalls::Sysno::futex.id() as u32))
    }

    fn poll() -> Left {
        Left::Blocked(Some(syscalls::Sysno::epoll_wait.id() as u32))
    }

    /// The parts of the last row's time; a row is opened, connected, intended, sent, answered.
    fn parts(events: &[Event], rows: &[(u16, [u64; 5])]) -> Vec<(Cause, u64)> {
        let row = |(port, times): &(u16, [u64; 5])| {
            let times = times.map(|time| time.to_string()).join(",");
            format!("0,{port},{times}\n")
        };
        let text: String = rows.iter().map(row).collect();
        let requests = Requests::of(&format!("heading\n{text}")).expect("well formed");
        let seen = Seen {
            tasks: Tasks::of(events),
            sockets: Sockets::of(events, &[SERVER].into()),
            requests,
        };
        let (port, [opened, connected, intended, sent, answered]) = rows[rows.len() - 1];
        let last = Request {
            port,
            opened,
            connected,
            intended,
            sent,
            answered,
        };
        let parts = seen.parts(&last);
        assert_eq!(parts.values().sum::<u64>(), last.latency(), "they add up");
        parts.into_iter().collect()
    }

    #[test]
    fn a_request_waits_behind_another_and_behind_a_neighbour() {
        let events = [
            switched(0, 9, Left::Preempted, ONE),
            event(10, ONE, Kind::Read(on(51))),
            event(12, 0, Kind::Arrived(on(52))),
            switched(30, ONE, Left::Preempted, 9),
            switched(70, 9, Left::Preempted, ONE),
            event(80, ONE, Kind::Written(on(51))),
            event(82, ONE, Kind::Read(on(52))),
            event(90, ONE, Kind::Written(on(52))),
        ];
        assert_eq!(
            parts(&events, &[(52, [1, 2, 5, 8, 95])]),
            [
                (Cause::Generator, 3),
                (Cause::Sending, 4),
                (Cause::OtherRequest, 18 + 10),
                (Cause::Housekeeping, 2),
                (Cause::Own, 8),
                (Cause::RunQueue("noisy".into(), false), 40),
                (Cause::Returning, 5),
            ]
        );
    }

    #[test]
    fn the_time_before_the_send_is_that_of_the_request_before() {
        let events = [
            switched(0, 9, Left::Preempted, ONE),
            event(12, ONE, Kind::Read(on(51))),
            switched(20, ONE, futex(), 0),
            event(90, ONE, Kind::Woken(false)),
            switched(92, 0, Left::Preempted, ONE),
            event(100, ONE, Kind::Written(on(51))),
            event(112, ONE, Kind::Read(on(51))),
            event(114, ONE, Kind::Written(on(51))),
        ];
        let rows = [(51, [1, 2, 10, 10, 105]), (51, [1, 2, 30, 110, 118])];
        assert_eq!(
            parts(&events, &rows),
            [
                (Cause::Generator, 5),
                (Cause::Own, 8 + 2),
                (Cause::Idle, 2),
                (Cause::Lock, 60),
                (Cause::Returning, 5 + 4),
                (Cause::Housekeeping, 2),
            ]
            .into_iter()
            .collect::<Parts>()
            .into_iter()
            .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_connection_that_is_made_late_says_why() {
        let events = [
            event(1000, 0, Kind::SentAgain(on(51), SYN_SENT)),
            switched(1040, 0, Left::Preempted, ONE),
            event(1060, ONE, Kind::Read(on(51))),
            event(1070, ONE, Kind::Written(on(51))),
        ];
        let row = (51, [10, 1050, 5, 1055, 1075]);
        assert_eq!(
            parts(&events, &[row]),
            [
                (Cause::Generator, 5),
                (Cause::NoConnection, 5),
                (Cause::Resent, 1040),
                (Cause::Housekeeping, 5),
                (Cause::Own, 10),
                (Cause::Returning, 5),
            ]
        );
        let (_, first) = parts(&events[1..], &[row]).swap_remove(2);
        assert_eq!(first, 1040);
    }

    #[test]
    fn a_task_that_answers_for_another_is_followed() {
        let events = [
            switched(0, 9, Left::Preempted, ONE),
            event(10, ONE, Kind::Read(on(51))),
            switched(15, ONE, poll(), 0),
            event(40, TWO, Kind::Woken(true)),
            switched(60, 0, Left::Preempted, TWO),
            event(70, TWO, Kind::Written(on(51))),
        ];
        assert_eq!(
            parts(&events, &[(51, [1, 2, 10, 10, 75])]),
            [
                (Cause::Own, 5 + 10),
                (Cause::Held, 20),
                (Cause::Asleep, 25),
                (Cause::Returning, 5),
            ]
        );
    }

    #[test]
    fn another_servers_answer_is_waited_for() {
        let other = Ports {
            own: 4000,
            other: 90,
        };
        let events = [
            switched(0, 9, Left::Preempted, ONE),
            event(10, ONE, Kind::Read(on(51))),
            event(12, ONE, Kind::Written(other)),
            switched(15, ONE, poll(), 0),
            event(50, ONE, Kind::Woken(false)),
            switched(50, 0, Left::Preempted, ONE),
            event(52, ONE, Kind::Read(other)),
            event(55, ONE, Kind::Written(on(51))),
        ];
        let found = parts(&events, &[(51, [1, 2, 10, 10, 60])]);
        assert_eq!(
            found,
            [
                (Cause::Own, 10),
                (Cause::Backend, 35),
                (Cause::Returning, 5)
            ]
        );
    }

    #[test]
    fn what_was_not_seen_says_so() {
        assert_eq!(
            parts(&[], &[(51, [1, 2, 10, 10, 60])]),
            [(Cause::Unseen, 50)]
        );
    }
}
