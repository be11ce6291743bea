//! A worker that is a process.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, pidfd_send_signal};

use super::exit::{collect, in_words, look};
use super::launch::Launched;
use crate::call::timespec;
use crate::callee::{Callee, HostEnd};
use crate::cgroup::SlotGroup;
use crate::connection::ENDING;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::mode::Worker;
use crate::shared;

/// The number that shells and container runtimes add to the signal that ended a program.
const SIGNALLED: i32 = 128;

/// A process and its socket.
#[derive(Debug)]
pub struct Process {
    launched: Launched,
    socket: HostEnd,
    group: Arc<SlotGroup>,
    memory_kills: u64,
    most_cpu: Duration,
    supervised: bool,
    /// True if it may share memory. `shares`: true if it has sent that it does.
    may_share: bool,
    shares: bool,
}

impl Process {
    /// A process that has just been launched within `limits`. If it is `supervised`, it is not the
    /// binary, but reports the binary's end by its exit code.
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
            socket: HostEnd::new(socket),
            group,
            memory_kills,
            most_cpu: Duration::from_secs(limits.cpu_s.into()),
            supervised,
            may_share: limits.shared,
            shares: false,
        }
    }
}

impl Worker for Process {
    fn readiness(&self) -> Option<RawFd> {
        self.socket.readiness()
    }

    fn read_ready(&mut self) -> Result<bool, String> {
        let said = self.socket.read_ready(|| self.how(ENDING))?;
        self.shares = self.may_share && said == Some(shared::READY);
        Ok(said.is_some())
    }

    fn callee(&mut self) -> Option<Callee> {
        self.socket.callee(self.shares)
    }

    fn how(&self, patience: Duration) -> Failure {
        let mut waited = [PollFd::new(&self.launched.process, PollFlags::IN)];
        if !matches!(poll(&mut waited, Some(&timespec(patience))), Ok(1)) {
            return Failure::Protocol("it closed its socket and went on".into());
        }
        if self.group.memory_kills() > self.memory_kills {
            return Failure::Memory;
        }
        if self.group.has_used_up_cpu() {
            return Failure::CpuTime;
        }
        let end = match look(&self.launched.process, libc::WNOWAIT) {
            Some((libc::CLD_EXITED, code, cpu)) if self.supervised && code > SIGNALLED => {
                Some((libc::CLD_KILLED, code - SIGNALLED, cpu))
            }
            end => end,
        };
        end.map_or_else(
            || Failure::Died("for an unknown reason".into()),
            |end| in_words(end, self.most_cpu),
        )
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
