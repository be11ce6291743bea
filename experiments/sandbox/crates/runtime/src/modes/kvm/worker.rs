//! The daemon's side of a monitor, and of one run of its guest.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::process::{Signal, pidfd_send_signal};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::monitor::ATTENTION;
use super::wire::{End, Order, recv, send};
use crate::call::timespec;
use crate::callee::{Callee, HostEnd};
use crate::cgroup::SlotGroup;
use crate::connection::ENDING;
use crate::failure::Failure;
use crate::lock::lock;
use crate::mode::Worker;
use crate::process::exit::{collect, look};
use crate::process::launch::Launched;

/// The time that a monitor has to end a run before it is killed.
const PATIENCE: Duration = Duration::from_millis(500);
/// A monitor that is alive, as far as anybody knows.
pub struct Monitor {
    launched: Launched,
    control: OwnedFd,
    runs: u32,
    /// Becomes readable when the monitor sends a message, ends, or takes too long.
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

    /// The socket of orders and reports.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.launched.pid
    }

    /// Begin a run of its guest with `socket`.
    pub fn begin(&mut self, socket: BorrowedFd<'_>) -> Result<(), String> {
        self.runs = self.runs.wrapping_add(1);
        let begun = send(self.control(), &Order::Begin { run: self.runs }, &[socket]);
        begun.map_err(|error| match recv(self.control(), false) {
            // It has ended already, and report why before.
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

/// A monitor's report of the end of a run.
#[derive(Clone, Debug)]
enum Report {
    Over { end: End, again: bool, cpu_us: u64 },
    Failed(String),
}

/// One run of a monitor's guest.
pub struct Visit {
    monitor: Option<Monitor>,
    /// The host's end of the guest's socket, until a caller has it.
    socket: HostEnd,
    group: Arc<SlotGroup>,
    memory_kills: u64,
    report: Mutex<Option<Report>>,
    /// The place of the monitor between two runs.
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
            socket: HostEnd::new(socket),
            group,
            memory_kills,
            report: Mutex::new(None),
            place,
        }
    }

    /// Return the monitor's report of the end of this run, if it has sent one.
    fn report(&self) -> Option<Report> {
        let mut report = lock(&self.report);
        let monitor = self.monitor.as_ref()?;
        if report.is_none() {
            *report = match recv(monitor.control(), false) {
                Ok(Some((
                    Order::Over {
                        run,
                        end,
                        again,
                        cpu_us,
                    },
                    _,
                ))) if run == monitor.runs => Some(Report::Over { end, again, cpu_us }),
                Ok(Some((Order::Failed(why), _))) => Some(Report::Failed(why)),
                _ => None,
            };
        }
        report.clone()
    }
}

impl Worker for Visit {
    fn readiness(&self) -> Option<RawFd> {
        self.socket.readiness()
    }

    fn read_ready(&mut self) -> Result<bool, String> {
        self.socket
            .read_ready(|| self.how(ENDING))
            .map(|report| report.is_some())
    }

    fn callee(&mut self) -> Option<Callee> {
        self.socket.callee(false)
    }

    fn how(&self, patience: Duration) -> Failure {
        let Some(monitor) = &self.monitor else {
            return Failure::Died("for an unknown reason".into());
        };
        if self.report().is_none() {
            let mut waited = [PollFd::new(&monitor.control, PollFlags::IN)];
            if !matches!(poll(&mut waited, Some(&timespec(patience))), Ok(1)) {
                return Failure::Protocol("it closed its socket and went on".into());
            }
        }
        match self.report() {
            Some(Report::Over {
                end: End::Exited(code),
                ..
            }) => Failure::Died(format!("exit code {code}")),
            Some(Report::Over {
                end: End::Signal(signal),
                ..
            }) => Failure::Died(format!("signal {signal}")),
            Some(Report::Over {
                end: End::Memory, ..
            }) => Failure::Memory,
            Some(Report::Over {
                end: End::Stopped, ..
            }) => Failure::Cancelled,
            Some(Report::Failed(why)) => Failure::Died(why),
            None if self.group.memory_kills() > self.memory_kills => Failure::Memory,
            None if self.group.has_used_up_cpu() => Failure::CpuTime,
            None => match look(&monitor.launched.process, libc::WNOWAIT) {
                Some((_, libc::SIGPROF, _)) => Failure::CpuTime,
                Some((_, how, _)) => {
                    Failure::Died(format!("its monitor ended, by signal or code {how}"))
                }
                None => Failure::Died("for an unknown reason".into()),
            },
        }
    }

    fn kill(&mut self) {
        if let (Some(monitor), None) = (&self.monitor, self.report()) {
            let run = monitor.runs;
            let signal = Signal::from_named_raw(ATTENTION).unwrap_or(Signal::KILL);
            let sent = send(monitor.control(), &Order::Stop { run }, &[]);
            let _ = pidfd_send_signal(
                &monitor.launched.process,
                if sent.is_ok() { signal } else { Signal::KILL },
            );
            monitor.set_alarm(PATIENCE);
        }
    }

    fn end(&self) -> Option<RawFd> {
        if lock(&self.report).is_some() {
            return None;
        }
        self.monitor
            .as_ref()
            .map(|monitor| monitor.news.as_raw_fd())
    }

    fn reap(&mut self) -> u64 {
        let report = self.report();
        let Some(monitor) = self.monitor.take() else {
            return 0;
        };
        match report {
            Some(Report::Over { again, cpu_us, .. }) => {
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
