//! A worker that is an instance of a module. It runs on its own stack, on its caller's thread, until it
//! waits for something or has run for a while.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use wasmtime::{InstancePre, Store, Trap};

use super::channel::{Channel, Host, OverMemory, Wait};
use super::ticker::Ticker;
use super::wasi::Exit;
use crate::call::{Attempt, Terms};
use crate::callee::{Callee, Instance};
use crate::dialogue::Dialogue;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::lock::lock;
use crate::mode::Worker;

/// Interval at which a guest that is not ready at once runs.
const SLICE: Duration = Duration::from_millis(1);

/// Comes to its end with how it ended. It keeps the instance, which is not to be taken away on the
/// path of a call.
type Run = Pin<Box<dyn Future<Output = (wasmtime::Result<()>, Store<Host>)> + Send>>;

enum Life {
    Running(Run),
    Ended(Failure, #[allow(dead_code)] Store<Host>),
    Gone,
}

/// An instance.
pub struct Guest {
    life: Life,
    channel: Arc<Mutex<Channel>>,
    ticker: Arc<Ticker>,
    most_cpu: Duration,
    cpu: Duration,
    /// Fires while it is not ready.
    slices: Option<OwnedFd>,
}

impl Guest {
    /// One that has run until it waited, usually for its request.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn new(
        ready: &InstancePre<Host>,
        ticker: &Arc<Ticker>,
        limits: &Limits,
    ) -> Result<Self, String> {
        let channel = Arc::<Mutex<Channel>>::default();
        let host = Host {
            channel: channel.clone(),
            memory: None,
            most: usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX),
        };
        let mut store = Store::new(ready.module().engine(), host);
        store.limiter(|host| host);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        let mut made = Guest {
            life: Life::Running(Box::pin(run(ready.clone(), store))),
            channel,
            ticker: ticker.clone(),
            most_cpu: Duration::from_secs(limits.cpu_s.into()),
            cpu: Duration::ZERO,
            slices: None,
        };
        if !made.proceed()? {
            made.slices = Some(slices().map_err(|error| format!("a timer: {error}"))?);
        }
        Ok(made)
    }

    /// Let it run on before its call: whether it is ready.
    fn proceed(&mut self) -> Result<bool, String> {
        self.run();
        match (&self.life, lock(&self.channel).output.len()) {
            (Life::Ended(how, _), _) => Err(how.to_string()),
            (_, 0) => Ok(false),
            (_, 1) => Ok(true),
            _ => Err("it sends more than one byte before its call".into()),
        }
    }

    /// Let it run until it waits, has run for a tick, or has ended.
    fn run(&mut self) {
        let Life::Running(run) = &mut self.life else {
            return;
        };
        lock(&self.channel).waits = None;
        self.ticker.running();
        let begun = thread_cpu();
        let polled = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        self.cpu += thread_cpu().saturating_sub(begun);
        if let Poll::Ready((how, store)) = polled {
            self.life = Life::Ended(end(how), store);
        }
    }

    /// Exchange messages up to the response.
    fn exchange(&mut self, dialogue: &mut Dialogue) -> Result<Vec<u8>, Failure> {
        loop {
            let sent = dialogue.unsent().len();
            lock(&self.channel).send(dialogue.unsent());
            dialogue.sent(sent);
            self.run();
            let (said, closed, waits) = {
                let mut channel = lock(&self.channel);
                let said = std::mem::take(&mut channel.output);
                (said, channel.closed, channel.waits)
            };
            if let Some(response) = dialogue.recv(&said)? {
                return Ok(response);
            }
            if let Life::Ended(how, _) = &self.life {
                return Err(how.clone());
            }
            if closed {
                return Err(Failure::Protocol("it closed its socket and went on".into()));
            }
            if self.cpu >= self.most_cpu {
                return Err(Failure::CpuTime);
            }
            let answered = |wait: Wait| wait.output || wait.input && !dialogue.unsent().is_empty();
            let again = match waits {
                Some(wait) if !answered(wait) => wait.until,
                _ => Some(Instant::now()),
            };
            pause(dialogue.terms(), again)?;
        }
    }
}

/// It is the keeper's, and during a call the caller's, too: the instance is taken away by the keeper, off
/// the path of calls.
impl Worker for Arc<Mutex<Guest>> {
    fn readiness(&self) -> Option<RawFd> {
        lock(self).slices.as_ref().map(AsRawFd::as_raw_fd)
    }

    fn read_ready(&mut self) -> Result<bool, String> {
        let mut guest = lock(self);
        if let Some(slices) = &guest.slices {
            let _ = rustix::io::read(slices, &mut [0; 8]);
        }
        let waits = lock(&guest.channel).waits;
        let due = waits.is_none_or(|wait| wait.until.is_some_and(|until| until <= Instant::now()));
        let is_ready = due && guest.proceed()?;
        if is_ready {
            // Nobody waits for it any more.
            guest.slices = None;
        }
        Ok(is_ready)
    }

    fn callee(&mut self) -> Option<Callee> {
        Some(Callee::Instance(Box::new(self.clone())))
    }

    fn how(&self, _: Duration) -> Failure {
        match &lock(self).life {
            Life::Ended(how, _) => how.clone(),
            _ => Failure::Died("for an unknown reason".into()),
        }
    }

    fn kill(&mut self) {
        let mut guest = lock(self);
        guest.life = Life::Gone;
        guest.slices = None;
    }

    fn end(&self) -> Option<RawFd> {
        None
    }

    fn reap(&mut self) -> u64 {
        lock(self).cpu.as_micros() as u64
    }

    fn pid(&self) -> Option<i32> {
        None
    }
}

impl Instance for Arc<Mutex<Guest>> {
    fn call(&mut self, request: &[u8], terms: &Terms) -> Attempt {
        let mut guest = lock(self);
        let begun = Instant::now();
        // What it said before is its ready byte.
        lock(&guest.channel).output.clear();
        let mut dialogue = Dialogue::new(request, terms.clone());
        let sent = Instant::now();
        let outcome = guest.exchange(&mut dialogue);
        Attempt {
            send: sent - begun,
            execute: sent.elapsed(),
            shared: false,
            outcome,
        }
    }
}

async fn run(
    ready: InstancePre<Host>,
    mut store: Store<Host>,
) -> (wasmtime::Result<()>, Store<Host>) {
    let how = start(&ready, &mut store).await;
    (how, store)
}

async fn start(ready: &InstancePre<Host>, store: &mut Store<Host>) -> wasmtime::Result<()> {
    let instance = ready.instantiate_async(&mut *store).await?;
    store.data_mut().memory = instance.get_memory(&mut *store, "memory");
    let start = instance.get_typed_func::<(), ()>(&mut *store, "_start")?;
    start.call_async(&mut *store, ()).await
}

/// Return how a guest ended that gave no response.
fn end(how: wasmtime::Result<()>) -> Failure {
    let Err(error) = how else {
        return Failure::Died("exit code 0".into());
    };
    if error.is::<OverMemory>() {
        return Failure::Memory;
    }
    if let Some(Exit(code)) = error.downcast_ref() {
        return Failure::Died(format!("exit code {code}"));
    }
    match error.downcast_ref::<Trap>() {
        Some(trap) => Failure::Died(trap.to_string()),
        None => Failure::Died(format!("{error:#}")),
    }
}

/// Wait until `again`, for ever if none, unless the call ends before.
fn pause(terms: &Terms, again: Option<Instant>) -> Result<(), Failure> {
    let until = again.map_or(terms.until, |again| again.min(terms.until));
    match terms.caller.wait(None, until) {
        Err(Failure::Deadline) if Instant::now() < terms.until => Ok(()),
        Err(failure) => Err(failure),
        Ok(_) => Ok(()),
    }
}

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn slices() -> Result<OwnedFd, rustix::io::Errno> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    let slice = Timespec {
        tv_sec: 0,
        tv_nsec: SLICE.as_nanos() as i64,
    };
    let every = Itimerspec {
        it_interval: slice,
        it_value: slice,
    };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &every)?;
    Ok(timer)
}
