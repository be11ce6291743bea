//! A keeper: the thread that starts workers, sees them ready, collects them after their call, and
//! starts the next, all off the path of calls. It waits for one worker alone only when workers do not get
//! ready, to find out why.

use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use super::inbox::{Inbox, Message};
use super::queue::{Pool, Ready};
use crate::cgroup::Activity;
use crate::janitor::Janitor;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::mode::{Spawner, Template, Worker};
use crate::slot::Slot;

/// Wait before the next start after one that failed; doubled with each that fails.
const BACK_OFF: Duration = Duration::from_millis(10);
const BACK_OFF_DOUBLINGS: u32 = 7;
/// Failed starts in a row after which calls fail, once any start has succeeded.
const DESPERATE: u32 = 3;
const INBOX: u64 = u64::MAX;

/// The parts that a keeper works with.
pub struct Duties {
    /// Its number among the keepers of its handle.
    pub number: usize,
    /// The template of its workers.
    pub template: Arc<dyn Template>,
    /// Its places.
    pub slots: Vec<Slot>,
    /// The pool that receives ready workers.
    pub pool: Arc<Pool>,
    /// The queue of its messages.
    pub inbox: Arc<Inbox>,
    /// Its counters.
    pub metrics: Arc<Metrics>,
    /// The limits, which include the time of a start.
    pub limits: Limits,
    /// The thread that removes processes that workers left behind.
    pub janitor: Janitor,
}

enum State {
    Empty,
    Starting {
        worker: Box<dyn Worker>,
        since: Instant,
    },
    Out,
    Dying {
        worker: Box<dyn Worker>,
        since: Instant,
        /// The reason why it was not ready, if that is to be looked into.
        why: Option<String>,
    },
    Sweeping,
    /// Something in it cannot be removed; it is not used again.
    Lost,
}

struct Keeper {
    duties: Duties,
    spawner: Box<dyn Spawner>,
    epoll: OwnedFd,
    places: Vec<State>,
    empty: VecDeque<usize>,
    not_before: Option<Instant>,
    failures: u32,
    successes: bool,
    /// The finding about the workers' starter since the last success.
    finding: Option<String>,
    stopping: bool,
}

/// The keeper's thread, from its own confinement, whose outcome goes to `settled`, to its end.
pub fn run(duties: Duties, settled: &Sender<Result<(), String>>) {
    let made = duties
        .template
        .settle(duties.slots.len())
        .and_then(|spawner| {
            let epoll =
                epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| error.to_string())?;
            watch(
                &epoll,
                std::os::fd::AsRawFd::as_raw_fd(&duties.inbox.wake),
                INBOX,
            )?;
            Ok((spawner, epoll))
        });
    let (spawner, epoll) = match made {
        Ok(made) => made,
        Err(why) => {
            let _ = settled.send(Err(why));
            return;
        }
    };
    let _ = settled.send(Ok(()));
    let count = duties.slots.len();
    Keeper {
        duties,
        spawner,
        epoll,
        places: (0..count).map(|_| State::Empty).collect(),
        empty: (0..count).collect(),
        not_before: None,
        failures: 0,
        successes: false,
        finding: None,
        stopping: false,
    }
    .keep();
}

impl Keeper {
    fn keep(&mut self) {
        let mut events = Vec::with_capacity(64);
        loop {
            while let Some(message) = self.duties.inbox.next() {
                self.handle(message);
            }
            if self.stopping
                && self
                    .places
                    .iter()
                    .all(|state| matches!(state, State::Empty | State::Lost))
            {
                return;
            }
            self.start_one();
            self.give_up_on_the_slow();
            let timeout = self.timeout().map(|left| Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            });
            events.clear();
            let waited = epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                timeout.as_ref(),
            );
            if waited.is_err() {
                continue;
            }
            for event in &events {
                match event.data.u64() {
                    INBOX => self.duties.inbox.quiet(),
                    place => self.look(place as usize),
                }
            }
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Spent(ready, since) => self.end(ready.place, ready.worker, since),
            Message::Swept(place, true) => self.vacate(place),
            Message::Swept(place, false) => {
                self.places[place] = State::Lost;
                self.duties
                    .pool
                    .despair("what a call left behind cannot be removed");
            }
            Message::Stop => {
                self.stopping = true;
                for place in 0..self.places.len() {
                    if let State::Starting { .. } = self.places[place] {
                        self.abandon(place);
                    }
                }
            }
        }
    }

    /// Start a worker in a place that is empty. One at a time, so that those which get ready
    /// meanwhile are seen.
    fn start_one(&mut self) {
        if self.stopping || self.not_before.is_some_and(|time| Instant::now() < time) {
            return;
        }
        let Some(place) = self.empty.pop_front() else {
            return;
        };
        let since = Instant::now();
        match self.spawner.spawn(&self.duties.slots[place]) {
            Ok(worker) => match worker.readiness() {
                Some(descriptor) if watch(&self.epoll, descriptor, place as u64).is_ok() => {
                    self.places[place] = State::Starting { worker, since };
                }
                Some(_) => {
                    self.failed("no more descriptors");
                    self.end(place, worker, since);
                }
                None => self.ready(place, worker, since),
            },
            Err(why) => {
                self.failed(&why);
                self.empty.push_back(place);
            }
        }
    }

    fn ready(&mut self, place: usize, worker: Box<dyn Worker>, since: Instant) {
        self.duties.metrics.ready(since.elapsed());
        (self.failures, self.successes, self.not_before) = (0, true, None);
        self.finding = None;
        self.places[place] = State::Out;
        let group = self.duties.slots[place].group.clone();
        group.begin(Activity::Ready);
        let ready = Ready {
            place,
            keeper: self.duties.number,
            group,
            worker,
            client: None,
        };
        if let Some(Ready { worker, .. }) = self.duties.pool.put(ready) {
            self.end(place, worker, Instant::now());
        }
    }

    fn failed(&mut self, why: &str) {
        self.duties.metrics.failed_start();
        self.failures += 1;
        let wait = BACK_OFF * (1 << self.failures.min(BACK_OFF_DOUBLINGS));
        self.not_before = Some(Instant::now() + wait);
        if !self.successes || self.failures >= DESPERATE {
            self.duties.pool.despair(why);
        }
    }

    /// As [`Keeper::failed`], with what can be found out about the workers' starter. Its place is empty, but
    /// for what could not be removed yet.
    fn failed_to_start(&mut self, place: usize, why: &str) {
        let is_last = !self.successes || self.failures + 1 >= DESPERATE;
        let is_free = !self.stopping && matches!(self.places[place], State::Empty);
        if is_last && is_free && self.finding.is_none() {
            self.finding = self.spawner.try_starter(&self.duties.slots[place]);
        }
        match &self.finding {
            Some(finding) => self.failed(&format!("{why}; {finding}")),
            None => self.failed(why),
        }
    }

    /// Handle an event of a place, according to its state.
    fn look(&mut self, place: usize) {
        match std::mem::replace(&mut self.places[place], State::Out) {
            State::Starting { mut worker, since } => match worker.read_ready() {
                Ok(true) => {
                    unwatch(&self.epoll, worker.readiness());
                    self.ready(place, worker, since);
                }
                Ok(false) => self.places[place] = State::Starting { worker, since },
                Err(why) if self.spawner.has_starter() => {
                    unwatch(&self.epoll, worker.readiness());
                    self.end_for(Some(why), place, worker, Instant::now());
                }
                Err(why) => {
                    self.failed(&why);
                    self.places[place] = State::Starting { worker, since };
                    self.abandon(place);
                }
            },
            State::Dying { worker, since, why } => {
                unwatch(&self.epoll, worker.end());
                self.collect_for(why, place, worker, since);
            }
            other => self.places[place] = other,
        }
    }

    /// End a worker that is not ready.
    fn abandon(&mut self, place: usize) {
        if let State::Starting { worker, .. } =
            std::mem::replace(&mut self.places[place], State::Out)
        {
            unwatch(&self.epoll, worker.readiness());
            self.end(place, worker, Instant::now());
        }
    }

    fn end(&mut self, place: usize, worker: Box<dyn Worker>, since: Instant) {
        self.end_for(None, place, worker, since);
    }

    /// End a worker, which may be about to be looked into.
    fn end_for(
        &mut self,
        why: Option<String>,
        place: usize,
        mut worker: Box<dyn Worker>,
        since: Instant,
    ) {
        // What is frozen could not end by itself.
        self.duties.slots[place].group.begin(Activity::Away);
        worker.kill();
        match worker.end() {
            Some(descriptor) if watch(&self.epoll, descriptor, place as u64).is_ok() => {
                self.places[place] = State::Dying { worker, since, why };
            }
            _ => self.collect_for(why, place, worker, since),
        }
    }

    fn collect_for(
        &mut self,
        why: Option<String>,
        place: usize,
        worker: Box<dyn Worker>,
        since: Instant,
    ) {
        self.collect(place, worker, since);
        if let Some(why) = why {
            self.failed_to_start(place, &why);
        }
    }

    fn collect(&mut self, place: usize, mut worker: Box<dyn Worker>, since: Instant) {
        let cpu_us = worker.reap();
        drop(worker);
        let slot = &self.duties.slots[place];
        self.spawner.clear(slot);
        self.duties.metrics.reaped(since.elapsed(), cpu_us);
        if slot.group.has_only(self.spawner.resident(slot)) {
            self.vacate(place);
            return;
        }
        self.places[place] = State::Sweeping;
        let (group, inbox) = (slot.group.clone(), self.duties.inbox.clone());
        self.duties
            .janitor
            .order(move || inbox.send(Message::Swept(place, group.empty())));
    }

    fn vacate(&mut self, place: usize) {
        self.places[place] = State::Empty;
        self.empty.push_back(place);
    }

    fn give_up_on_the_slow(&mut self) {
        for place in 0..self.places.len() {
            let slow = matches!(&self.places[place], State::Starting { since, .. } if since.elapsed() >= self.duties.limits.start);
            if slow {
                self.failed(&format!(
                    "it sent no ready byte within {:?}",
                    self.duties.limits.start
                ));
                self.abandon(place);
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        let starts = self.places.iter().filter_map(|state| match state {
            State::Starting { since, .. } => Some(*since + self.duties.limits.start),
            _ => None,
        });
        let more = !self.stopping && !self.empty.is_empty();
        let next = more.then(|| self.not_before.unwrap_or_else(Instant::now));
        let first = starts.chain(next).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }
}

fn watch(epoll: &OwnedFd, descriptor: RawFd, place: u64) -> Result<(), String> {
    // SAFETY: the caller keeps the descriptor open for the length of this call.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let data = epoll::EventData::new_u64(place);
    epoll::add(epoll, descriptor, data, epoll::EventFlags::IN).map_err(|error| error.to_string())
}

fn unwatch(epoll: &OwnedFd, descriptor: Option<RawFd>) {
    if let Some(descriptor) = descriptor {
        // SAFETY: as above.
        let _ = epoll::delete(epoll, unsafe { BorrowedFd::borrow_raw(descriptor) });
    }
}
