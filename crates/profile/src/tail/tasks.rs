//! Each task's states over time, and each CPU's tasks.

use std::collections::HashMap;

use super::events::{By, Event, FOREIGN, Kind, Left};

/// The state of a task from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has this CPU.
    Running(u16),
    /// It waits for this CPU.
    Queued(u16),
    /// It waits in a system call, or for a page.
    Blocked(Option<u32>),
    /// It waits for a disk.
    Disk,
    /// Its group's quota is used up.
    Held,
}

impl State {
    /// True of a task that was woken or runs.
    fn is_begun(self) -> bool {
        matches!(self, State::Queued(_) | State::Held | State::Running(_))
    }
}

/// A task that has a CPU from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Its number; 0 is the idle task.
    pub task: u32,
    /// Its role.
    pub role: u8,
    /// Its name, as the kernel keeps it.
    pub name: [u8; 16],
}

/// A value that holds from some time on, until the next.
type Track<T> = Vec<(u64, T)>;

/// The states of the roles' tasks, and who ran on each CPU.
#[derive(Debug, Default)]
pub struct Tasks {
    states: HashMap<u32, Track<State>>,
    /// The role of each task that has one.
    roles: HashMap<u32, u8>,
    cpus: HashMap<u16, Track<Ran>>,
    /// By CPU: the time that the hypervisor took, and that of softirqs.
    stolen: HashMap<u16, Track<Option<By>>>,
    softirqs: HashMap<u16, Track<Option<By>>>,
}

impl Tasks {
    /// Follow the tasks through events in the order of their times.
    pub fn of(events: &[Event]) -> Self {
        let mut tasks = Self::default();
        for event in events {
            match event.kind {
                Kind::Switched {
                    left,
                    next,
                    next_role,
                    name,
                } => {
                    if event.role != FOREIGN {
                        let state = match left {
                            Left::Preempted => State::Queued(event.cpu),
                            Left::Blocked(call) => State::Blocked(call),
                            Left::Disk => State::Disk,
                            Left::Held => State::Held,
                        };
                        tasks.enter(event.task, event.role, event.at, state);
                    }
                    if next_role != FOREIGN {
                        tasks.enter(next, next_role, event.at, State::Running(event.cpu));
                    }
                    let ran = Ran {
                        task: next,
                        role: next_role,
                        name,
                    };
                    tasks
                        .cpus
                        .entry(event.cpu)
                        .or_default()
                        .push((event.at, ran));
                }
                Kind::Woken(held) => {
                    let running = |track: &Track<State>| {
                        track
                            .last()
                            .is_some_and(|(_, state)| matches!(state, State::Running(_)))
                    };
                    // A task that is about to sleep may be woken before it does.
                    if !tasks.states.get(&event.task).is_some_and(running) {
                        let state = if held {
                            State::Held
                        } else {
                            State::Queued(event.cpu)
                        };
                        tasks.enter(event.task, event.role, event.at, state);
                    }
                }
                Kind::Taken(ns, by) => {
                    let of = match by {
                        By::Hypervisor => &mut tasks.stolen,
                        By::Softirq(_) => &mut tasks.softirqs,
                    };
                    let track = of.entry(event.cpu).or_default();
                    let free = track.last().map_or(0, |(at, _)| *at);
                    let begin = event.at.saturating_sub(ns.into()).max(free);
                    track.extend([(begin, Some(by)), (event.at, None)]);
                }
                _ => {}
            }
        }
        tasks
    }

    fn enter(&mut self, task: u32, role: u8, at: u64, state: State) {
        self.roles.insert(task, role);
        self.states.entry(task).or_default().push((at, state));
    }

    /// True if a task and one that had a CPU are of the same role.
    pub fn share_role(&self, task: u32, ran: &Ran) -> bool {
        self.roles.get(&task) == Some(&ran.role)
    }

    /// The pieces of a time: begin, end, and what the task did, as far as it is known.
    pub fn states(&self, task: u32, from: u64, until: u64) -> Vec<(u64, u64, Option<State>)> {
        pieces(self.states.get(&task), from, until)
    }

    /// The same of who ran on a CPU.
    pub fn ran(&self, cpu: u16, from: u64, until: u64) -> Vec<(u64, u64, Option<Ran>)> {
        pieces(self.cpus.get(&cpu), from, until)
    }

    /// The same of what took a CPU from the task that has it, and from the idle one.
    pub fn taken(&self, cpu: u16, from: u64, until: u64) -> Vec<(u64, u64, Option<By>)> {
        let mut found = Vec::new();
        for (begin, end, by) in pieces(self.stolen.get(&cpu), from, until) {
            match by.flatten() {
                Some(by) => found.push((begin, end, Some(by))),
                None => {
                    let softirqs = pieces(self.softirqs.get(&cpu), begin, end);
                    found.extend(
                        softirqs
                            .into_iter()
                            .map(|(begin, end, by)| (begin, end, by.flatten())),
                    );
                }
            }
        }
        found
    }

    /// The first time within these at which the task was woken. One that was preempted meanwhile only goes on.
    pub fn first_woken(&self, task: u32, from: u64, until: u64) -> Option<u64> {
        let track = self.states.get(&task)?;
        let mut next = track.partition_point(|(at, _)| *at < from);
        let mut was_begun = next
            .checked_sub(1)
            .is_some_and(|last| track[last].1.is_begun());
        while let Some((at, state)) = track.get(next).filter(|(at, _)| *at <= until) {
            if state.is_begun() && !was_begun {
                return Some(*at);
            }
            (next, was_begun) = (next + 1, state.is_begun());
        }
        None
    }
}

/// Cut a time where the track changes.
pub fn pieces<T: Copy>(
    track: Option<&Track<T>>,
    from: u64,
    until: u64,
) -> Vec<(u64, u64, Option<T>)> {
    let track = track.map_or(&[][..], Vec::as_slice);
    let mut next = track.partition_point(|(at, _)| *at <= from);
    let mut value = next.checked_sub(1).map(|index| track[index].1);
    let (mut begin, mut found) = (from, Vec::new());
    while begin < until {
        let end = track.get(next).map_or(until, |(at, _)| (*at).min(until));
        if end > begin {
            found.push((begin, end, value));
        }
        if end == until {
            break;
        }
        value = Some(track[next].1);
        (begin, next) = (end, next + 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_at_which_a_task_is_woken_is_found() {
        let event = |at, task, role, kind| Event {
            at,
            cpu: 0,
            task,
            role,
            kind,
        };
        let comes = Kind::Switched {
            left: Left::Preempted,
            next: 1,
            next_role: 0,
            name: [0; 16],
        };
        let leaves = |left| Kind::Switched {
            left,
            next: 0,
            next_role: FOREIGN,
            name: [0; 16],
        };
        let tasks = Tasks::of(&[
            event(10, 1, 0, Kind::Woken(false)),
            event(20, 0, FOREIGN, comes),
            event(30, 1, 0, leaves(Left::Preempted)),
            event(40, 0, FOREIGN, comes),
            event(50, 1, 0, leaves(Left::Blocked(None))),
            event(60, 0, FOREIGN, comes),
        ]);
        assert_eq!(tasks.first_woken(1, 0, 70), Some(10));
        assert_eq!(
            tasks.first_woken(1, 11, 70),
            Some(60),
            "nor when it goes on"
        );
        assert_eq!(tasks.first_woken(1, 11, 59), None);
        assert_eq!(tasks.first_woken(2, 0, 70), None);
    }

    #[test]
    fn a_time_is_cut_where_its_track_changes() {
        let track = vec![(10, 'a'), (20, 'b'), (20, 'c'), (30, 'd')];
        let of = |from, until| pieces(Some(&track), from, until);
        assert_eq!(of(5, 8), [(5, 8, None)]);
        assert_eq!(of(5, 15), [(5, 10, None), (10, 15, Some('a'))]);
        assert_eq!(of(12, 25), [(12, 20, Some('a')), (20, 25, Some('c'))]);
        assert_eq!(of(30, 40), [(30, 40, Some('d'))]);
        assert_eq!(of(7, 7), []);
        assert_eq!(pieces::<char>(None, 1, 2), [(1, 2, None)]);
    }
}
