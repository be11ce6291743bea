//! Accepting, also when the process is out of descriptors.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use crate::counters::Counters;
use crate::log;
use crate::options::Options;
use crate::sockets::verify;

/// A listener and a spare descriptor. Without the spare, a client that no descriptor is left for
/// would stay in the queue, and the listener readable for ever.
#[derive(Debug)]
pub struct Acceptor {
    listener: OwnedFd,
    spare: Option<File>,
}

impl Acceptor {
    /// Take clients from `listener`.
    pub fn new(listener: OwnedFd) -> Result<Self> {
        Ok(Self {
            listener,
            spare: Some(spare()?),
        })
    }

    /// The descriptor to wait on.
    pub fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    /// The next client; none when nobody waits.
    pub fn accept(&mut self) -> Result<Option<OwnedFd>> {
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(self.listener.as_fd(), flags) {
                Ok(client) => return Ok(Some(client)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::MFILE | Errno::NFILE) => self.turn_away()?,
                Err(error) => return Err(error).context("accept"),
            }
        }
    }

    /// Accept one client only to close it.
    pub fn turn_away(&mut self) -> Result<()> {
        log::line("out of file descriptors: a client is turned away; raise the limit (ulimit -n)");
        self.spare = None;
        drop(accept_with(self.listener.as_fd(), SocketFlags::CLOEXEC));
        self.spare = Some(spare()?);
        Ok(())
    }
}

/// Count a client and gives it to `take`, whose error turns it away. Fails where the client's socket
/// has not the options that its listener was given.
pub fn admit(
    client: OwnedFd,
    options: &Options,
    counters: &Counters,
    take: impl FnOnce(OwnedFd) -> Result<()>,
) -> Result<()> {
    Counters::add(&counters.accepted, 1);
    verify(&client, options)?;
    if let Err(error) = take(client) {
        counters.turned_away(&error);
    }
    Ok(())
}

fn spare() -> Result<File> {
    File::open("/dev/null").context("/dev/null")
}
