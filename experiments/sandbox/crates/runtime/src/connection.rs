//! One call over a worker's socket. It sends and receives at once, so that a worker that sends
//! before it has received cannot stop it.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::call::{Attempt, Terms};
use crate::dialogue::Dialogue;
use crate::failure::Failure;
use crate::shared::Shared;

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// The time that a worker has between closing its socket and its end, before it counts as alive.
pub const ENDING: Duration = Duration::from_millis(500);

/// Read a worker's message before its call: its ready byte, if it is ready. `how` tells how a
/// worker ended.
///
/// # Errors
///
/// The reason why it never becomes ready, in words.
pub fn read_ready(socket: BorrowedFd<'_>, how: impl Fn() -> Failure) -> Result<Option<u8>, String> {
    let mut message = [0; 2];
    match recv(socket, &mut message, RecvFlags::DONTWAIT) {
        Ok((1, _)) => Ok(Some(message[0])),
        Ok((0, _)) => Err(how().to_string()),
        Ok(_) => Err("it sends more than one byte before its call".into()),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(format!("its socket: {error}")),
    }
}

/// Let a ready worker serve a call, its payload in memory that it `shares` or on its socket. `how`
/// tells how a worker ended.
pub fn attempt(
    socket: BorrowedFd<'_>,
    request: &[u8],
    terms: &Terms,
    shares: bool,
    how: impl Fn() -> Failure,
) -> Attempt {
    let begun = Instant::now();
    // A worker that sends before its request has not understood the protocol.
    let early = match recv(socket, &mut [0; 1], RecvFlags::DONTWAIT | RecvFlags::PEEK) {
        Ok((0, _)) => Some(Failure::NotReady(format!(
            "it ended before its call: {}",
            how()
        ))),
        Ok(_) => Some(Failure::Protocol(
            "it sent bytes between its ready byte and its request".into(),
        )),
        Err(_) => None,
    };
    let connection = match early {
        Some(failure) => Err(failure),
        None => Connection::new(socket, request, terms, shares),
    };
    let mut connection = match connection {
        Ok(connection) => connection,
        Err(failure) => {
            return Attempt {
                send: Duration::ZERO,
                execute: Duration::ZERO,
                shared: false,
                outcome: Err(failure),
            };
        }
    };
    let outcome = match connection.run() {
        Ok(Some(response)) => Ok(response),
        Ok(None) => Err(how()),
        Err(failure) => Err(failure),
    };
    let sent = connection.sent().unwrap_or_else(Instant::now);
    Attempt {
        send: sent - begun,
        execute: sent.elapsed(),
        shared: shares,
        outcome,
    }
}

/// The socket and the state of one call.
struct Connection<'a> {
    socket: BorrowedFd<'a>,
    dialogue: Dialogue,
    sent: Option<Instant>,
    buffer: Vec<u8>,
}

impl<'a> Connection<'a> {
    /// Prepare to send `request`, or pass it in memory.
    fn new(
        socket: BorrowedFd<'a>,
        request: &[u8],
        terms: &Terms,
        shares: bool,
    ) -> Result<Self, Failure> {
        let dialogue = if shares {
            let memory = Shared::pass(socket, request, terms.limits.response_bytes)?;
            Dialogue::in_memory(memory, terms.clone())
        } else {
            Dialogue::new(request, terms.clone())
        };
        Ok(Connection {
            socket,
            dialogue,
            sent: None,
            buffer: Vec::with_capacity(PIECE),
        })
    }

    /// Return the time at which the last byte of the request was written.
    fn sent(&self) -> Option<Instant> {
        self.sent
    }

    /// Run the call. Return the response, or `None` if the worker closed its socket before.
    ///
    /// # Errors
    ///
    /// Any other failure of the call.
    fn run(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            self.write()?;
            let mut wanted = PollFlags::IN;
            if !self.dialogue.unsent().is_empty() {
                wanted |= PollFlags::OUT;
            }
            let terms = self.dialogue.terms();
            if !terms
                .caller
                .wait(Some((self.socket, wanted)), terms.until)?
            {
                continue;
            }
            self.buffer.clear();
            match recv(
                self.socket,
                spare_capacity(&mut self.buffer),
                RecvFlags::DONTWAIT,
            ) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(None),
                Ok(_) => {}
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(error) => return Err(Failure::Protocol(format!("its socket: {error}"))),
            }
            if let Some(response) = self.dialogue.recv(&self.buffer)? {
                return Ok(Some(response));
            }
        }
    }

    /// Send what the socket takes. A worker that no longer receives shows by having no response.
    fn write(&mut self) -> Result<(), Failure> {
        while !self.dialogue.unsent().is_empty() {
            match send(
                self.socket,
                self.dialogue.unsent(),
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            ) {
                Ok(count) => self.dialogue.sent(count),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => self.dialogue.drop_unsent(),
                Err(error) => return Err(Failure::Protocol(format!("its socket: {error}"))),
            }
        }
        self.sent.get_or_insert_with(Instant::now);
        Ok(())
    }
}
