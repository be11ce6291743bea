//! The event loop of one thread: clients come, until they are to come no more and the last has gone.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::{Result, bail};
use echo_server::Thread;
use echo_server::accept::{Acceptor, admit};
use echo_server::sockets::set_blocking;
use io_uring::types::Timespec;
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::ring::{Completion, Ring};
use crate::token::{Kind, Token};

/// A data path over io_uring.
pub trait Path<'a> {
    /// Its ring.
    fn ring(&mut self) -> &mut Ring<'a>;

    /// Ask for the next client or for all, with the kind `Accept`.
    fn accept(&mut self, listener: RawFd) -> Result<()>;

    /// Serve a client. An error turns it away.
    fn take(&mut self, client: OwnedFd) -> Result<()>;

    /// An operation of a connection completed.
    fn completed(&mut self, completion: &Completion) -> Result<()>;

    /// All completions of a turn have been told.
    fn turned(&mut self) -> Result<()> {
        Ok(())
    }

    /// Connections that it has.
    fn connections(&self) -> usize;
}

/// Serve one thread with `path`.
pub fn work<'a>(thread: Thread<'a>, path: &mut impl Path<'a>) -> Result<()> {
    let Thread {
        listener,
        stop,
        counters,
        options,
    } = thread;
    let drain = Timespec::from(options.drain());
    let mut clients = Clients::new(listener)?;
    clients.more(path)?;
    path.ring()
        .poll(stop.as_raw_fd(), libc::POLLIN, Token::of(Kind::Stop))?;
    while clients.come() || path.connections() > 0 {
        let most = path.connections();
        let completions = path.ring().turn(most)?;
        for each in &completions {
            match each.token.kind {
                Kind::Accept => {
                    if let Some(client) = clients.accepted(each)? {
                        admit(client, options, counters, |client| path.take(client))?;
                    }
                    if !each.more {
                        clients.more(path)?;
                    }
                }
                Kind::Stop => {
                    for client in clients.last()? {
                        admit(client, options, counters, |client| path.take(client))?;
                    }
                    let (which, nothing) = (Token::of(Kind::Accept), Token::of(Kind::Nothing));
                    path.ring().cancel(which, nothing)?;
                    path.ring().timeout(&drain, Token::of(Kind::Deadline))?;
                }
                Kind::Deadline => {
                    counters.gave_up(path.connections() as u64);
                    return Ok(());
                }
                Kind::Nothing => {}
                _ => path.completed(each)?,
            }
        }
        path.ring().done(completions);
        path.turned()?;
    }
    Ok(())
}

/// Return true if a backend answered. A non-blocking socket would make the kernel give up instead of
/// waiting, so that it blocks from now on.
pub fn answered(backend: &OwnedFd) -> Result<bool> {
    if sockopt::socket_error(backend)?.is_err() {
        return Ok(false);
    }
    set_blocking(backend, true)?;
    Ok(true)
}

/// The source of clients, until no more are accepted.
struct Clients {
    acceptor: Option<Acceptor>,
}

impl Clients {
    fn new(listener: OwnedFd) -> Result<Self> {
        set_blocking(&listener, true)?;
        let acceptor = Some(Acceptor::new(listener)?);
        Ok(Self { acceptor })
    }

    fn come(&self) -> bool {
        self.acceptor.is_some()
    }

    /// Ask for more, if they are to come.
    fn more<'a>(&self, path: &mut impl Path<'a>) -> Result<()> {
        match &self.acceptor {
            Some(acceptor) => path.accept(acceptor.listener().as_raw_fd()),
            None => Ok(()),
        }
    }

    /// The client of a completion, if it has one.
    fn accepted(&mut self, completion: &Completion) -> Result<Option<OwnedFd>> {
        match (completion.result, &mut self.acceptor) {
            // SAFETY: the kernel has just made the descriptor for this completion.
            (Ok(fd), _) => return Ok(Some(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })),
            // Asked for before the end came: the listener is closed by now.
            (Err(_), None) => {}
            (Err(Errno::MFILE | Errno::NFILE), Some(acceptor)) => acceptor.turn_away()?,
            (Err(Errno::CANCELED | Errno::CONNABORTED | Errno::INTR), _) => {}
            (Err(error), _) => bail!("accept: {error}"),
        }
        Ok(None)
    }

    /// Those that were in the queue when no more are to come.
    fn last(&mut self) -> Result<Vec<OwnedFd>> {
        let mut found = Vec::new();
        let Some(mut acceptor) = self.acceptor.take() else {
            return Ok(found);
        };
        set_blocking(acceptor.listener(), false)?;
        while let Some(client) = acceptor.accept()? {
            set_blocking(&client, true)?;
            found.push(client);
        }
        Ok(found)
    }
}
