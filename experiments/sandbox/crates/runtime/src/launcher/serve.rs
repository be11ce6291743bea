//! The launcher's side: it does what its broker asks, if it may ask for that.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::io::Errno;

use super::handle;
use super::remote::Which;
use crate::host::Host;
use crate::packet::recv;
use crate::wanted::Wanted;
use crate::wire::{Answer, Question, answer};

/// The most binaries at once.
const HANDLES: usize = 1024;
/// The longest name of a log: with .log.old it is a file's.
const NAME: usize = 240;

/// The files that a broker may have opened, and the socket that it may have announced.
pub trait Files {
    /// Open a file; one that is full is first to `turn` into the one before.
    ///
    /// # Errors
    ///
    /// The kernel's.
    fn open(&self, which: &Which, turn: bool) -> Result<File, Error>;

    /// Show clients the socket.
    ///
    /// # Errors
    ///
    /// The kernel's.
    fn announce(&self) -> Result<(), Error>;
}

/// Pass a broker the first descriptor that it needs: the socket that clients connect to.
///
/// # Errors
///
/// The kernel's: the broker is gone.
pub fn pass(control: &OwnedFd, descriptor: OwnedFd) -> Result<(), Error> {
    let beside = [descriptor.as_fd()];
    Ok(answer(control.as_fd(), &Answer::Done, &beside, false)?)
}

/// Do what the broker at `control` asks, until it hangs up or breaks the protocol. Then `end` it, and wait
/// until all that was started for it has ended.
pub fn serve(host: &Arc<Host>, control: &OwnedFd, files: &impl Files, end: impl FnOnce()) {
    let mut threads: VecDeque<JoinHandle<()>> = VecDeque::new();
    loop {
        let (packet, mut beside) = match recv(control.as_fd(), true) {
            Ok(Some(received)) => received,
            // One that breaks the protocol has nothing more to ask.
            Err(Errno::PIPE | Errno::BADMSG) => break,
            _ => continue,
        };
        threads.retain(|thread| !thread.is_finished());
        let Some(question) = Question::decode(packet) else {
            break;
        };
        match (question, beside.len()) {
            (Question::Load(wanted), 2) => {
                if let (Some(binary), Some(socket)) = (beside.pop(), beside.pop()) {
                    threads.extend(start(host, wanted, binary, socket, threads.len()));
                }
            }
            (Question::Open { log, turn }, 1) => {
                let opened = which(log).and_then(|which| files.open(&which, turn));
                reply(&beside[0], opened.map(|file| Some(file.into())));
            }
            (Question::Announce, 1) => reply(&beside[0], files.announce().map(|()| None)),
            // Where descriptors are missing, or too many, nothing is done. Who asked sees that its socket is
            // closed.
            _ => {}
        }
    }
    // Whoever lives on keeps workers.
    end();
    for thread in threads {
        let _ = thread.join();
    }
}

/// Start the thread of one binary, unless there are too many.
fn start(
    host: &Arc<Host>,
    wanted: Wanted,
    binary: OwnedFd,
    socket: OwnedFd,
    others: usize,
) -> Option<JoinHandle<()>> {
    if others >= HANDLES {
        let why = format!("{HANDLES} binaries are loaded already; unload one first");
        reply(&socket, Err(Error::other(why)));
        return None;
    }
    let host = host.clone();
    let thread = std::thread::Builder::new().name("handle".into());
    let started = thread.spawn(move || handle::run(&host, &wanted, binary, &socket));
    started.ok()
}

/// Return the file that is meant, unless the log's name could mean another place.
fn which(log: Option<String>) -> Result<Which, Error> {
    let Some(name) = log else {
        return Ok(Which::Audit);
    };
    let is_name = !name.is_empty() && name.len() <= NAME && !name.starts_with('.');
    if is_name && !name.contains(['/', '\0']) {
        return Ok(Which::Log(name));
    }
    let why = format!("a log named after {name:?}: expected a name that can be a file's");
    Err(Error::new(ErrorKind::InvalidInput, why))
}

/// Answer without waiting for who asked.
fn reply(socket: &OwnedFd, done: Result<Option<OwnedFd>, Error>) {
    let (said, beside) = match done {
        Ok(beside) => (Answer::Done, beside),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(0);
            (Answer::Refused(errno, error.to_string()), None)
        }
    };
    let beside: Vec<_> = beside.iter().map(AsFd::as_fd).collect();
    let _ = answer(socket.as_fd(), &said, &beside, false);
}

#[cfg(test)]
mod tests;
