//! A worker within the sandbox around all: its socket, and a line on which the sandbox says how it ended.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use super::report::{LONGEST, Report};
use crate::call::timespec;
use crate::callee::{Callee, HostEnd};
use crate::connection::ENDING;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::mode::Worker;
use crate::process::exit::in_words;

/// A worker.
#[derive(Debug)]
pub struct Inmate {
    life: OwnedFd,
    socket: HostEnd,
    most_cpu: Duration,
}

impl Inmate {
    /// A worker that has just been started: its line of life, and its socket.
    pub fn new(life: OwnedFd, socket: OwnedFd, limits: &Limits) -> Self {
        Inmate {
            life,
            socket: HostEnd::new(socket),
            most_cpu: Duration::from_secs(limits.cpu_s.into()),
        }
    }

    /// Return how it ended, or why it never was, if that has been said. It stays to be read again.
    fn report(&self) -> Option<Report> {
        let mut message = [0; LONGEST];
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        let (length, _) = recv(&self.life, &mut message, flags).ok()?;
        Report::decode(&message[..length])
    }
}

impl Worker for Inmate {
    fn readiness(&self) -> Option<RawFd> {
        self.socket.readiness()
    }

    fn read_ready(&mut self) -> Result<bool, String> {
        let said = self.socket.read_ready(|| self.how(ENDING))?;
        Ok(said.is_some())
    }

    fn callee(&mut self) -> Option<Callee> {
        self.socket.callee(false)
    }

    fn how(&self, patience: Duration) -> Failure {
        let mut waited = [PollFd::new(&self.life, PollFlags::IN)];
        if !matches!(poll(&mut waited, Some(&timespec(patience))), Ok(1)) {
            return Failure::Protocol("it closed its socket and went on".into());
        }
        match self.report() {
            Some(Report::Ended(end)) => in_words((end.code, end.status, end.cpu), self.most_cpu),
            Some(Report::Failed(why)) => Failure::NotReady(why),
            None => Failure::Died("the sandbox around all workers has ended".into()),
        }
    }

    fn kill(&mut self) {
        let _ = shutdown(&self.life, Shutdown::Write);
    }

    fn end(&self) -> Option<RawFd> {
        Some(self.life.as_raw_fd())
    }

    fn reap(&mut self) -> u64 {
        match self.report() {
            Some(Report::Ended(end)) => end.cpu.as_micros() as u64,
            _ => 0,
        }
    }

    /// It is none of the host's processes.
    fn pid(&self) -> Option<i32> {
        None
    }
}
