//! A keeper: the thread that starts workers, sees them ready, collects them after their call, and
//! starts the next, all off the path of calls. It waits for one worker alone only when workers do not get
//! ready, to find out why.

pub mod inbox;
mod orders;
mod place;
mod starts;
mod watch;

use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use self::inbox::{Inbox, Message};
use self::place::State;
use self::starts::Starts;
use self::watch::{Source, Watch};
use crate::board::Mark;
use crate::janitor::Janitor;
use crate::limits::Limits;
use crate::line::Line;
use crate::mode::{Spawner, Template, Worker};
use crate::order::{Event, Reaped, now};
use crate::slot::Slot;

/// The parts that a keeper works with.
pub struct Duties {
    /// Its number among the keepers of its handle.
    pub number: usize,
    /// The template of its workers.
    pub template: Arc<dyn Template>,
    /// Its places.
    pub slots: Vec<Slot>,
    /// The marks of their workers.
    pub marks: Vec<Mark>,
    /// The line to those who take calls.
    pub line: Line,
    /// The queue of its messages.
    pub inbox: Arc<Inbox>,
    /// The limits, which include the time of a start.
    pub limits: Limits,
    /// The thread that removes processes that workers left behind.
    pub janitor: Janitor,
    /// The thread that looks at a worker from outside: this one may see nothing.
    pub inspector: Janitor,
}

struct Keeper {
    duties: Duties,
    spawner: Box<dyn Spawner>,
    watch: Watch,
    /// A worker of this thread's was looked at.
    looked: bool,
    places: Vec<State>,
    empty: VecDeque<usize>,
    starts: Starts,
    /// The last worker that was collected. Mostly another one is ready soon, and both are one message.
    reaped: Option<Reaped>,
    stopping: bool,
}

/// The keeper's thread, from its own confinement, whose outcome goes to `settled`, to its end.
pub fn run(duties: Duties, settled: &Sender<Result<(), String>>) {
    let made = duties
        .template
        .settle(duties.slots.len())
        .and_then(|spawner| {
            let watch = Watch::new()?;
            watch.add(duties.inbox.wake().as_raw_fd(), Source::Inbox)?;
            if let Some(socket) = duties.line.socket() {
                watch.add(socket.as_raw_fd(), Source::Line)?;
            }
            Ok((spawner, watch))
        });
    let (spawner, watch) = match made {
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
        watch,
        looked: false,
        places: (0..count).map(|_| State::Empty).collect(),
        empty: (0..count).collect(),
        starts: Starts::default(),
        reaped: None,
        stopping: false,
    }
    .keep();
}

impl Keeper {
    fn keep(&mut self) {
        loop {
            while let Some(message) = self.duties.inbox.next() {
                self.handle(message);
            }
            let is_over = |state: &State| matches!(state, State::Empty | State::Lost);
            if self.stopping && self.places.iter().all(is_over) {
                return self.tell_of_the_collected();
            }
            self.start_one();
            self.give_up_on_the_slow();
            let is_starting = |state: &State| matches!(state, State::Starting { .. });
            if self.reaped.is_some() && !self.places.iter().any(is_starting) {
                self.tell_of_the_collected();
            }
            for source in self.watch.wait(self.timeout()) {
                match source {
                    Source::Inbox => self.duties.inbox.quiet(),
                    Source::Line => self.take_orders(),
                    Source::Place(place) => self.look(place),
                }
            }
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Order(order) => self.obey(order),
            Message::Swept(place, true) => self.vacate(place),
            Message::Swept(place, false) => {
                self.places[place] = State::Lost;
                let why = "what a call left behind cannot be removed";
                self.tell(Event::Hopeless(why.into()));
            }
            Message::Stop => self.stop(),
        }
    }

    /// Start no more.
    fn stop(&mut self) {
        self.stopping = true;
        for place in 0..self.places.len() {
            if let State::Starting { .. } = self.places[place] {
                self.abandon(place);
            }
        }
    }

    /// Start a worker in a place that is empty. One at a time, so that those which get ready
    /// meanwhile are seen.
    fn start_one(&mut self) {
        if self.stopping || self.starts.must_wait() {
            return;
        }
        let Some(place) = self.empty.pop_front() else {
            return;
        };
        let since = Instant::now();
        let spawned = self.spawner.spawn(&self.duties.slots[place]);
        if let Some(said) = self.duties.slots[place].said() {
            self.tell(Event::Log(said));
        }
        match spawned {
            Ok(worker) => match worker.readiness() {
                Some(descriptor) if self.watch.add(descriptor, Source::Place(place)).is_ok() => {
                    self.places[place] = State::Starting { worker, since };
                }
                Some(_) => {
                    self.failed("no more descriptors");
                    self.end(place, worker, now());
                }
                None => self.ready(place, worker, since),
            },
            Err(why) => {
                self.failed(&why);
                self.empty.push_back(place);
            }
        }
    }

    fn ready(&mut self, place: usize, mut worker: Box<dyn Worker>, since: Instant) {
        if let Err(why) = self.look_from_outside(&*worker) {
            self.failed(&why);
            return self.end(place, worker, now());
        }
        let Some(callee) = worker.callee() else {
            self.failed("it has been called already");
            return self.end(place, worker, now());
        };
        self.starts.succeeded();
        let asked = None;
        self.places[place] = State::Out { worker, asked };
        let mark = self.duties.marks[place].clone();
        mark.ready();
        self.duties.slots[place].group.begin(Some(mark));
        let refill = since.elapsed();
        let reaped = self.reaped.take();
        self.tell(Event::Ready {
            place,
            callee,
            refill,
            reaped,
        });
    }

    /// Look at the first worker that this thread has started.
    fn look_from_outside(&mut self, worker: &dyn Worker) -> Result<(), String> {
        if self.looked {
            return Ok(());
        }
        let (template, pid) = (self.duties.template.clone(), worker.pid());
        let (sender, verdict) = channel();
        self.duties.inspector.order(move || {
            let _ = sender.send(template.verify(pid));
        });
        let verdict = verdict.recv();
        verdict.unwrap_or_else(|_| Err("nobody can look at it from outside".into()))?;
        self.looked = true;
        Ok(())
    }

    fn failed(&mut self, why: &str) {
        let is_hopeless = self.starts.failed();
        self.tell(Event::Failed);
        if is_hopeless {
            self.tell(Event::Hopeless(why.to_owned()));
        }
    }

    /// As [`Keeper::failed`], with what can be found out about the workers' starter. Its place is empty, but
    /// for what could not be removed yet.
    fn failed_to_start(&mut self, place: usize, why: &str) {
        let is_last = self.starts.are_nearly_hopeless();
        let is_free = !self.stopping && matches!(self.places[place], State::Empty);
        if is_last && is_free && self.starts.finding.is_none() {
            self.starts.finding = self.spawner.try_starter(&self.duties.slots[place]);
        }
        match &self.starts.finding {
            Some(finding) => self.failed(&format!("{why}; {finding}")),
            None => self.failed(why),
        }
    }

    /// Handle an event of a place, according to its state.
    fn look(&mut self, place: usize) {
        match std::mem::replace(&mut self.places[place], State::Empty) {
            State::Starting { mut worker, since } => match worker.read_ready() {
                Ok(true) => {
                    self.watch.remove(worker.readiness());
                    self.ready(place, worker, since);
                }
                Ok(false) => self.places[place] = State::Starting { worker, since },
                Err(why) if self.spawner.has_starter() => {
                    self.watch.remove(worker.readiness());
                    self.end_for(Some(why), place, worker, now());
                }
                Err(why) => {
                    self.places[place] = State::Starting { worker, since };
                    self.failed(&why);
                    self.abandon(place);
                }
            },
            State::Dying { worker, since, why } => {
                self.watch.remove(worker.end());
                self.collect_for(why, place, worker, since);
            }
            other => {
                let is_asked = matches!(other, State::Out { asked: Some(_), .. });
                self.places[place] = other;
                if is_asked {
                    self.answer(place);
                }
            }
        }
    }

    /// End a worker that is not ready.
    fn abandon(&mut self, place: usize) {
        match std::mem::replace(&mut self.places[place], State::Empty) {
            State::Starting { worker, .. } => {
                self.watch.remove(worker.readiness());
                self.end(place, worker, now());
            }
            other => self.places[place] = other,
        }
    }

    fn end(&mut self, place: usize, worker: Box<dyn Worker>, since: Duration) {
        self.end_for(None, place, worker, since);
    }

    /// End a worker, which may be about to be looked into.
    fn end_for(
        &mut self,
        why: Option<String>,
        place: usize,
        mut worker: Box<dyn Worker>,
        since: Duration,
    ) {
        // What is frozen could not end by itself.
        self.duties.slots[place].group.begin(None);
        worker.kill();
        match worker.end() {
            Some(end) if self.watch.add(end, Source::Place(place)).is_ok() => {
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
        since: Duration,
    ) {
        self.collect(place, worker, since);
        if let Some(why) = why {
            self.failed_to_start(place, &why);
        }
    }

    fn collect(&mut self, place: usize, mut worker: Box<dyn Worker>, since: Duration) {
        let cpu_us = worker.reap();
        drop(worker);
        let slot = &self.duties.slots[place];
        self.spawner.clear(slot);
        let is_clear = slot.group.has_only(self.spawner.resident(slot));
        if is_clear {
            self.vacate(place);
        } else {
            self.places[place] = State::Sweeping;
            let (group, inbox) = (slot.group.clone(), self.duties.inbox.clone());
            self.duties
                .janitor
                .order(move || inbox.send(Message::Swept(place, group.empty())));
        }
        let time = now().saturating_sub(since);
        self.tell_of_the_collected();
        self.reaped = Some(Reaped { time, cpu_us });
    }

    fn tell_of_the_collected(&mut self) {
        if let Some(reaped) = self.reaped.take() {
            self.tell(Event::Reaped(reaped));
        }
    }

    fn vacate(&mut self, place: usize) {
        self.places[place] = State::Empty;
        self.empty.push_back(place);
    }

    fn give_up_on_the_slow(&mut self) {
        for place in 0..self.places.len() {
            match &self.places[place] {
                State::Starting { since, .. } if since.elapsed() >= self.duties.limits.start => {
                    let patience = self.duties.limits.start;
                    self.failed(&format!("it sent no ready byte within {patience:?}"));
                    self.abandon(place);
                }
                State::Out {
                    asked: Some(until), ..
                } if *until <= Instant::now() => self.answer(place),
                _ => {}
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        let ends = self.places.iter().filter_map(|state| match state {
            State::Starting { since, .. } => Some(*since + self.duties.limits.start),
            State::Out { asked, .. } => *asked,
            _ => None,
        });
        let more = !self.stopping && !self.empty.is_empty();
        let next = more.then(|| self.starts.next());
        let first = ends.chain(next).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }
}
