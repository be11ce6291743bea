//! One connection as user space knows it: its ends, and which of its directions have ended.

use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result, ensure};
use echo_server::sockets::tcp_info;
use rustix::net::{Shutdown, shutdown, sockopt};

use crate::kernel::Kernel;

/// The state of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Its source ended; some of its bytes may still be queued in the kernel.
    Finishing,
    /// All its bytes are on their way.
    Ended,
}

/// Direction i takes its bytes from end i; an echo has one end, to which they go back.
#[derive(Debug)]
pub struct Connection {
    ends: Vec<OwnedFd>,
    cookies: Vec<u64>,
    states: Vec<State>,
    joined: bool,
}

impl Connection {
    /// Not joined yet.
    pub fn new(ends: Vec<OwnedFd>) -> Result<Self> {
        let cookies = ends
            .iter()
            .map(|end| Ok(sockopt::socket_cookie(end)?))
            .collect::<Result<_>>()?;
        let states = vec![State::Open; ends.len()];
        Ok(Self {
            ends,
            cookies,
            states,
            joined: false,
        })
    }

    /// Its sockets.
    pub fn ends(&self) -> &[OwnedFd] {
        &self.ends
    }

    /// Their cookies.
    pub fn cookies(&self) -> &[u64] {
        &self.cookies
    }

    /// Return true if the kernel forwards its bytes.
    pub fn is_joined(&self) -> bool {
        self.joined
    }

    /// Its sockets, for somebody else to forward.
    pub fn into_ends(self) -> Vec<OwnedFd> {
        self.ends
    }

    /// Let the kernel forward its bytes, those included that came before. False when a peer ended
    /// its stream before: the kernel takes no such socket, and has not looked at a byte of it.
    pub fn join(&mut self, kernel: &Kernel) -> Result<bool> {
        // Targets first: a program that finds none drops the bytes.
        for end in 0..self.ends.len() {
            let target = self.ends[self.across(end)].as_fd();
            if !kernel.add_target(self.cookies[end], target)? {
                return Ok(false);
            }
        }
        for end in 0..self.ends.len() {
            if !kernel.add_source(self.cookies[end], self.ends[end].as_fd())? {
                ensure!(
                    end == 0,
                    "the backend ended its stream while it was put into the map"
                );
                return Ok(false);
            }
        }
        for end in &self.ends {
            // Bytes that came before the socket was in the map are looked at when more come, which
            // may be never. Setting the low-water mark makes the kernel look again.
            set_low_water(end)?;
        }
        self.joined = true;
        Ok(true)
    }

    /// The peer at `end` has sent all it wanted to.
    pub fn finish(&mut self, end: usize) {
        if self.states[end] == State::Open {
            self.states[end] = State::Finishing;
        }
    }

    /// End the directions all of whose bytes are on their way. True when all have ended.
    ///
    /// Closing earlier would throw away what the kernel has queued for redirection.
    pub fn settle(&mut self) -> Result<bool> {
        for end in 0..self.ends.len() {
            let across = self.across(end);
            if self.states[end] == State::Finishing && self.joined && self.delivered(end, across)? {
                self.states[end] = State::Ended;
                if across != end {
                    shutdown(&self.ends[across], Shutdown::Write).context("shutdown")?;
                }
            }
        }
        Ok(self.states.iter().all(|state| *state == State::Ended))
    }

    /// Return true if a direction waits to be settled.
    pub fn is_finishing(&self) -> bool {
        self.states.contains(&State::Finishing)
    }

    fn across(&self, end: usize) -> usize {
        self.ends.len() - 1 - end
    }

    /// Return true if all that `source` received is in the hands of `sink`'s TCP. What was received counts
    /// the end of the stream as a byte.
    fn delivered(&self, source: usize, sink: usize) -> Result<bool> {
        let received = tcp_info(self.ends[source].as_fd())?.tcpi_bytes_received;
        let sent = tcp_info(self.ends[sink].as_fd())?;
        let handed =
            sent.tcpi_bytes_sent - sent.tcpi_bytes_retrans + u64::from(sent.tcpi_notsent_bytes);
        Ok(handed + 1 >= received)
    }
}

fn set_low_water(socket: &OwnedFd) -> Result<()> {
    use std::os::fd::AsRawFd;
    let mark: libc::c_int = 1;
    // SAFETY: the pointer is to an int that outlives the call, and the length is an int's.
    let set = unsafe {
        let value = (&raw const mark).cast();
        let length = size_of_val(&mark) as libc::socklen_t;
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            value,
            length,
        )
    };
    ensure!(set == 0, "SO_RCVLOWAT: {}", std::io::Error::last_os_error());
    Ok(())
}
