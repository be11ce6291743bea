//! A worker that is a process.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use super::launch::Launched;
use super::{shared, talk};
use crate::call::{Attempt, Terms};
use crate::cgroup::SlotGroup;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::mode::Worker;

/// How long a process that has closed its socket may take to end, before it counts as alive.
const ENDING: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// What shells and container runtimes add to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// A process and its socket.
#[derive(Debug)]
pub struct Process {
    launched: Launched,
    socket: OwnedFd,
    group: Arc<SlotGroup>,
    memory_kills: u64,
    most_cpu: Duration,
    supervised: bool,
    /// It may share memory, and whether it has said that it does.
    may_share: bool,
    shares: bool,
}

impl Process {
    /// A process that has just been launched within `limits`. If it is `supervised`, it is not the
    /// binary, but tells by its exit code how that ended.
    pub fn new(
        launched: Launched,
        socket: OwnedFd,
        group: Arc<SlotGroup>,
        limits: &Limits,
        supervised: bool,
    ) -> Self {
        let memory_kills = group.memory_kills();
        Process {
            launched,
            socket,
            group,
            memory_kills,
            most_cpu: Duration::from_secs(limits.cpu_s.into()),
            supervised,
            may_share: limits.shared,
            shares: false,
        }
    }

    /// How it ended, which it is about to.
    fn end_in_words(&self) -> Failure {
        let mut waited = [PollFd::new(&self.launched.process, PollFlags::IN)];
        if !matches!(poll(&mut waited, Some(&ENDING)), Ok(1)) {
            return Failure::Protocol("it closed its socket and went on".into());
        }
        if self.group.memory_kills() > self.memory_kills {
            return Failure::Memory;
        }
        let end = match look(&self.launched.process, libc::WNOWAIT) {
            Some((libc::CLD_EXITED, code, cpu)) if self.supervised && code > SIGNALLED => {
                Some((libc::CLD_KILLED, code - SIGNALLED, cpu))
            }
            end => end,
        };
        match end {
            Some((libc::CLD_EXITED, code, _)) => Failure::Died(format!("exit code {code}")),
            // The kernel counts the limit in ticks, and finer for this; nobody else kills a worker
            // that is being called.
            Some((_, libc::SIGKILL, cpu)) if cpu >= self.most_cpu / 2 => Failure::CpuTime,
            Some((_, libc::SIGXCPU, _)) => Failure::CpuTime,
            Some((_, signal, _)) => Failure::Died(format!("signal {signal}")),
            None => Failure::Died("nobody knows how".into()),
        }
    }
}

impl Worker for Process {
    fn signs_of_life(&self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }

    fn greet(&mut self) -> Result<bool, String> {
        let said = talk::greet(self.socket.as_fd(), || self.end_in_words())?;
        self.shares = self.may_share && said == Some(shared::READY);
        Ok(said.is_some())
    }

    fn call(&mut self, request: &[u8], terms: &Terms) -> Attempt {
        talk::attempt(self.socket.as_fd(), request, terms, self.shares, || {
            self.end_in_words()
        })
    }

    fn kill(&mut self) {
        let _ = pidfd_send_signal(&self.launched.process, Signal::KILL);
    }

    fn end(&self) -> Option<RawFd> {
        Some(self.launched.process.as_raw_fd())
    }

    fn reap(&mut self) -> u64 {
        collect(&self.launched.process)
    }

    fn pid(&self) -> Option<i32> {
        Some(self.launched.pid)
    }
}

/// Waits until a process has ended, and takes it off the kernel's list; its CPU time in µs.
pub(crate) fn collect(process: &OwnedFd) -> u64 {
    look(process, 0).map_or(0, |(_, _, cpu)| cpu.as_micros() as u64)
}

/// How an ended process ended (`si_code`, `si_status`), and its CPU time.
pub(crate) fn look(process: &OwnedFd, options: i32) -> Option<(i32, i32, Duration)> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both are of the kernel's layout, and large enough.
        let result = unsafe {
            libc::syscall(
                libc::SYS_waitid,
                libc::P_PIDFD,
                process.as_raw_fd(),
                info.as_mut_ptr(),
                libc::WEXITED | options,
                usage.as_mut_ptr(),
            )
        };
        if result == 0 {
            break;
        }
        if Errno::from_io_error(&std::io::Error::last_os_error()) != Some(Errno::INTR) {
            return None;
        }
    }
    // SAFETY: zero is valid for both, and the kernel filled them in.
    let (info, usage) = unsafe { (info.assume_init(), usage.assume_init()) };
    let time = |part: libc::timeval| {
        Duration::new(part.tv_sec as u64, 0) + Duration::from_micros(part.tv_usec as u64)
    };
    // SAFETY: waitid says how a child ended in these fields.
    let status = unsafe { info.si_status() };
    Some((
        info.si_code,
        status,
        time(usage.ru_utime) + time(usage.ru_stime),
    ))
}
