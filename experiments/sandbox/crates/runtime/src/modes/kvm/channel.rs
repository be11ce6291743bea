//! A guest's connection: its socket, and the daemon's orders that may stop the guest while it
//! waits.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::wire::{self, Order};

/// The number of bytes that a guest may send before its request, if it is to be run again.
const SENT_MAX: usize = 1024;

/// The guest must stop: it was ordered to, or its daemon is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// One run's socket, until the guest closes it, and the socket of orders.
pub struct Channel<'a> {
    socket: Option<OwnedFd>,
    control: BorrowedFd<'a>,
    run: u32,
    /// The guest's bytes so far, up to [`SENT_MAX`] + 1.
    sent: Vec<u8>,
}

impl<'a> Channel<'a> {
    /// Make the connection of run number `run`.
    pub fn new(socket: OwnedFd, control: BorrowedFd<'a>, run: u32) -> Self {
        Channel {
            socket: Some(socket),
            control,
            run,
            sent: Vec::new(),
        }
    }

    /// The guest's socket, unless it has closed it.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Close the guest's socket.
    pub fn close(&mut self) {
        self.socket = None;
    }

    /// Note that the guest has sent `bytes`.
    pub fn note_sent(&mut self, bytes: &[u8]) {
        let room = (SENT_MAX + 1).saturating_sub(self.sent.len());
        self.sent.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Return all that the guest has sent, if that is something, and not too much to be sent again.
    pub fn greeting(&self) -> Option<&[u8]> {
        (1..=SENT_MAX)
            .contains(&self.sent.len())
            .then_some(&self.sent)
    }

    /// Wait until the socket is as wanted (true), or until the time is up (false).
    ///
    /// # Errors
    ///
    /// When the guest is to be stopped meanwhile.
    pub fn wait(&self, wanted: PollFlags, until: Option<Instant>) -> Result<bool, Stopped> {
        loop {
            let left = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
            let mut waited = Vec::with_capacity(2);
            waited.push(PollFd::new(&self.control, PollFlags::IN));
            if let (Some(socket), false) = (&self.socket, wanted.is_empty()) {
                waited.push(PollFd::new(socket, wanted));
            }
            match poll(&mut waited, left.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) if waited[0].revents().is_empty() => return Ok(true),
                Ok(_) => self.check()?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Stopped),
            }
        }
    }

    /// Return the events for which the socket is ready.
    pub fn ready(&self, wanted: PollFlags) -> PollFlags {
        let Some(socket) = &self.socket else {
            return PollFlags::NVAL;
        };
        let mut asked = [PollFd::new(socket, wanted)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match poll(&mut asked, Some(&now)) {
            Ok(_) => asked[0].revents(),
            Err(_) => PollFlags::empty(),
        }
    }

    /// Read the orders that have arrived, without waiting.
    ///
    /// # Errors
    ///
    /// When the guest is to be stopped.
    pub fn check(&self) -> Result<(), Stopped> {
        loop {
            match wire::recv(self.control, false) {
                Ok(Some((Order::Stop { run }, _))) if run != self.run => {}
                Ok(None) => return Ok(()),
                // An order to stop this run, an order out of place, or a closed socket.
                Ok(Some(_)) | Err(_) => return Err(Stopped),
            }
        }
    }

    /// The number of the socket in this process, for calls that no library has.
    pub fn raw(&self) -> Option<i32> {
        self.socket.as_ref().map(AsRawFd::as_raw_fd)
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
