//! The daemon's side of a monitor, and of one run of its guest.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::process::{Signal, pidfd_send_signal};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::monitor::ATTENTION;
use super::wire::{End, Order, hear, tell};
use crate::call::{Attempt, Terms};
use crate::cgroup::SlotGroup;
use crate::failure::Failure;
use crate::lock::lock;
use crate::mode::Worker;
use crate::process::exit::{collect, look};
use crate::process::launch::Launched;
use crate::process::talk;

/// How long a monitor may take to end a run, before it is killed.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long it may take from closing a guest's socket to saying why.
const ENDING: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// A monitor that is alive, as far as anybody knows.
pub struct Monitor {
    launched: Launched,
    control: OwnedFd,
    runs: u32,
    /// Can be read when it says something, ends, or takes too long.
    news: OwnedFd,
    alarm: OwnedFd,
}

impl Monitor {
    /// One that has just been launched.
    pub fn new(launched: Launched, control: OwnedFd) -> Result<Self, String> {
        let made = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
            let alarm = timerfd_create(
                TimerfdClockId::Monotonic,
                TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
            )?;
            let news = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            for source in [&launched.process, &control, &alarm] {
                epoll::add(
                    &news,
                    source,
                    epoll::EventData::new_u64(0),
                    epoll::EventFlags::IN,
                )?;
            }
            Ok((alarm, news))
        };
        let (alarm, news) = made().map_err(|error| format!("no more descriptors: {error}"))?;
        Ok(Monitor {
            launched,
            control,
            runs: 0,
            news,
            alarm,
        })
    }

    /// Where it hears and speaks.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.launched.pid
    }

    /// Begins a run of its guest with `socket`.
    pub fn begin(&mut self, socket: BorrowedFd<'_>) -> Result<(), String> {
        self.runs = self.runs.wrapping_add(1);
        let begun = tell(self.control(), &Order::Begin { run: self.runs }, &[socket]);
        begun.map_err(|error| match hear(self.control(), false) {
            // It has ended already, and said why before.
            Ok(Some((Order::Failed(why), _))) => why,
            _ => format!("the monitor: {error}"),
        })
    }

    fn set_alarm(&self, after: Duration) {
        let zero = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let at = rustix::time::Timespec {
            tv_sec: after.as_secs() as i64,
            tv_nsec: after.subsec_nanos().into(),
        };
        let setting = Itimerspec {
            it_interval: zero,
            it_value: at,
        };
        let _ = timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &setting);
    }

    fn kill(&self) {
        let _ = pidfd_send_signal(&self.launched.process, Signal::KILL);
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.kill();
        collect(&self.launched.process);
    }
}

/// What a monitor said about the end of a run.
#[derive(Clone, Debug)]
enum Said {
    Over { end: End, again: bool, cpu_us: u64 },
    Failed(String),
}

/// One run of a monitor's guest.
pub struct Visit {
    monitor: Option<Monitor>,
    socket: OwnedFd,
    group: Arc<SlotGroup>,
    memory_kills: u64,
    said: Mutex<Option<Said>>,
    /// Where the monitor rests afterwards.
    place: Arc<Mutex<Option<Monitor>>>,
}

impl Visit {
    /// A run that has just begun.
    pub fn new(
        monitor: Monitor,
        socket: OwnedFd,
        group: Arc<SlotGroup>,
        place: Arc<Mutex<Option<Monitor>>>,
    ) -> Self {
        let memory_kills = group.memory_kills();
        Visit {
            monitor: Some(monitor),
            socket,
            group,
            memory_kills,
            said: Mutex::new(None),
            place,
        }
    }

    /// What the monitor has said about the end of this run, if it has.
    fn heard(&self) -> Option<Said> {
        let mut said = lock(&self.said);
        let monitor = self.monitor.as_ref()?;
        if said.is_none() {
            *said = match hear(monitor.control(), false) {
                Ok(Some((
                    Order::Over {
                        run,
                        end,
                        again,
                        cpu_us,
                    },
                    _,
                ))) if run == monitor.runs => Some(Said::Over { end, again, cpu_us }),
                Ok(Some((Order::Failed(why), _))) => Some(Said::Failed(why)),
                _ => None,
            };
        }
        said.clone()
    }

    /// Return how it ended. It is about to end.
    fn end_in_words(&self) -> Failure {
        let Some(monitor) = &self.monitor else {
            return Failure::Died("nobody knows how".into());
        };
        if self.heard().is_none() {
            let mut waited = [PollFd::new(&monitor.control, PollFlags::IN)];
            if !matches!(poll(&mut waited, Some(&ENDING)), Ok(1)) {
                return Failure::Protocol("it closed its socket and went on".into());
            }
        }
        match self.heard() {
            Some(Said::Over {
                end: End::Exited(code),
                ..
            }) => Failure::Died(format!("exit code {code}")),
            Some(Said::Over {
                end: End::Signal(signal),
                ..
            }) => Failure::Died(format!("signal {signal}")),
            Some(Said::Over {
                end: End::Memory, ..
            }) => Failure::Memory,
            Some(Said::Over {
                end: End::Stopped, ..
            }) => Failure::Cancelled,
            Some(Said::Failed(why)) => Failure::Died(why),
            None if self.group.memory_kills() > self.memory_kills => Failure::Memory,
            None => match look(&monitor.launched.process, libc::WNOWAIT) {
                Some((_, libc::SIGPROF, _)) => Failure::CpuTime,
                Some((_, how, _)) => {
                    Failure::Died(format!("its monitor ended, by signal or code {how}"))
                }
                None => Failure::Died("nobody knows how".into()),
            },
        }
    }
}

impl Worker for Visit {
    fn signs_of_life(&self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }

    fn greet(&mut self) -> Result<bool, String> {
        talk::greet(self.socket.as_fd(), || self.end_in_words()).map(|said| said.is_some())
    }

    fn call(&mut self, request: &[u8], terms: &Terms) -> Attempt {
        talk::attempt(self.socket.as_fd(), request, terms, false, || {
            self.end_in_words()
        })
    }

    fn kill(&mut self) {
        if let (Some(monitor), None) = (&self.monitor, self.heard()) {
            let run = monitor.runs;
            let signal = Signal::from_named_raw(ATTENTION).unwrap_or(Signal::KILL);
            let told = tell(monitor.control(), &Order::Stop { run }, &[]);
            let _ = pidfd_send_signal(
                &monitor.launched.process,
                if told.is_ok() { signal } else { Signal::KILL },
            );
            monitor.set_alarm(PATIENCE);
        }
    }

    fn end(&self) -> Option<RawFd> {
        if lock(&self.said).is_some() {
            return None;
        }
        self.monitor
            .as_ref()
            .map(|monitor| monitor.news.as_raw_fd())
    }

    fn reap(&mut self) -> u64 {
        let said = self.heard();
        let Some(monitor) = self.monitor.take() else {
            return 0;
        };
        match said {
            Some(Said::Over { again, cpu_us, .. }) => {
                if again {
                    monitor.set_alarm(Duration::ZERO);
                    *lock(&self.place) = Some(monitor);
                }
                cpu_us
            }
            // Dropping it kills and collects it.
            _ => 0,
        }
    }

    fn pid(&self) -> Option<i32> {
        self.monitor.as_ref().map(Monitor::pid)
    }
}
