//! The conversation of one call over a worker's socket. It sends and listens at once, so that a
//! worker that talks before it has listened cannot stop it.

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

/// Looks at what a worker says before its call: its ready byte, if it is ready. `how` tells how one
/// ended.
///
/// # Errors
///
/// Why it never will be, in words.
pub fn greet(socket: BorrowedFd<'_>, how: impl Fn() -> Failure) -> Result<Option<u8>, String> {
    let mut said = [0; 2];
    match recv(socket, &mut said, RecvFlags::DONTWAIT) {
        Ok((1, _)) => Ok(Some(said[0])),
        Ok((0, _)) => Err(how().to_string()),
        Ok(_) => Err("it says more than one byte before its call".into()),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(format!("its socket: {error}")),
    }
}

/// Lets a ready worker serve a call, its payload in memory that it `shares` or on its socket. `how`
/// tells how one ended.
pub fn attempt(
    socket: BorrowedFd<'_>,
    request: &[u8],
    terms: &Terms,
    shares: bool,
    how: impl Fn() -> Failure,
) -> Attempt {
    let begun = Instant::now();
    // A worker that says something before it is asked has not understood the protocol.
    let early = match recv(socket, &mut [0; 1], RecvFlags::DONTWAIT | RecvFlags::PEEK) {
        Ok((0, _)) => Some(Failure::NotReady(format!(
            "it ended before its call: {}",
            how()
        ))),
        Ok(_) => Some(Failure::Protocol(
            "it spoke after its ready byte, before it was asked".into(),
        )),
        Err(_) => None,
    };
    let talk = match early {
        Some(failure) => Err(failure),
        None => Talk::new(socket, request, terms, shares),
    };
    let mut talk = match talk {
        Ok(talk) => talk,
        Err(failure) => {
            return Attempt {
                send: Duration::ZERO,
                execute: Duration::ZERO,
                shared: false,
                outcome: Err(failure),
            };
        }
    };
    let outcome = match talk.run() {
        Ok(Some(response)) => Ok(response),
        Ok(None) => Err(how()),
        Err(failure) => Err(failure),
    };
    let sent = talk.sent().unwrap_or_else(Instant::now);
    Attempt {
        send: sent - begun,
        execute: sent.elapsed(),
        shared: shares,
        outcome,
    }
}

/// One call's conversation.
struct Talk<'a> {
    socket: BorrowedFd<'a>,
    dialogue: Dialogue,
    sent: Option<Instant>,
    buffer: Vec<u8>,
}

impl<'a> Talk<'a> {
    /// One that will send `request`, or has passed it in memory.
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
        Ok(Talk {
            socket,
            dialogue,
            sent: None,
            buffer: Vec::with_capacity(PIECE),
        })
    }

    /// When the last byte of the request was written.
    fn sent(&self) -> Option<Instant> {
        self.sent
    }

    /// The response; none if the worker closed its socket before.
    ///
    /// # Errors
    ///
    /// Whatever else ended the call.
    fn run(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            self.write()?;
            let mut wanted = PollFlags::IN;
            if !self.dialogue.to_tell().is_empty() {
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
            if let Some(response) = self.dialogue.hear(&self.buffer)? {
                return Ok(Some(response));
            }
        }
    }

    /// Writes what it can. That a worker listens no longer, its silence will explain.
    fn write(&mut self) -> Result<(), Failure> {
        while !self.dialogue.to_tell().is_empty() {
            match send(
                self.socket,
                self.dialogue.to_tell(),
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            ) {
                Ok(count) => self.dialogue.told(count),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => self.dialogue.unheard(),
                Err(error) => return Err(Failure::Protocol(format!("its socket: {error}"))),
            }
        }
        self.sent.get_or_insert_with(Instant::now);
        Ok(())
    }
}
