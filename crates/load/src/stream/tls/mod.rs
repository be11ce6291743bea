//! TLS 1.2 and 1.3 (RFC 5246, RFC 8446).
//!
//! rustls makes the handshakes. It copies every record into memory of its own, so that those after
//! the handshake are left to [`open`]: decrypted and read where they were received. For
//! these the ciphers are ring's, which use vectors of AES instructions (VAES) on CPUs without
//! AVX-512 as well: half the time of AWS-LC's there, which makes the handshakes.

pub mod handshake;
mod identity;
pub mod names;
pub mod negotiated;
pub mod open;
pub mod probe;
pub mod reason;
pub mod record;
pub mod terms;
pub mod trust;
pub mod verify;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;

use self::handshake::{Handshake, Step};
use self::negotiated::Negotiated;
use self::open::{Consumed, Open};
use self::reason::OTHER_ALPN;
use self::terms::Terms;
use super::layer::{Layer, Received, Receiver};
use super::socket_error;
use crate::protocol::{End, Failure};

/// Most bytes that one call receives; more than the longest record, and than any handshake needs.
const BUFFER: usize = 128 * 1024;

/// HTTP/1.1's name in ALPN: the one protocol that a server without ALPN speaks as well.
pub const HTTP1: &[u8] = b"http/1.1";

/// HTTP/2's name in ALPN.
pub const HTTP2: &[u8] = b"h2";

/// TLS as one thread speaks it.
#[derive(Debug)]
pub struct Tls<'a> {
    terms: &'a Terms,
    config: Arc<ClientConfig>,
    buffer: Box<[u8]>,
}

/// One connection.
#[derive(Debug)]
pub struct Wire {
    state: State,
    /// The beginning of a record whose rest has not arrived; during the handshake, the bytes that
    /// rustls still needs.
    carried: Vec<u8>,
}

#[derive(Debug)]
enum State {
    /// Not connected yet, to the target of this number.
    Fresh(usize),
    Handshake(Box<Handshake>),
    Open(Box<Open>),
    /// The handshake negotiated something else than requested.
    Failed,
}

impl<'a> Tls<'a> {
    /// A thread's own state for connections on common `terms`.
    pub fn new(terms: &'a Terms) -> Self {
        Tls {
            terms,
            config: terms.config(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
        }
    }

    /// Check the negotiated protocol, and take the connection over from rustls.
    fn settle(&self, connection: UnbufferedClientConnection) -> Result<Box<Open>, Failure> {
        let asked = self.terms.alpn();
        match connection.alpn_protocol() {
            Some(chosen) if chosen == asked => {}
            None if asked == HTTP1 => {}
            _ => return Err(Failure::connect(OTHER_ALPN)),
        }
        let negotiated = Negotiated::of(&connection);
        self.terms
            .handshakes
            .add(connection.handshake_kind(), negotiated);
        Ok(Box::new(Open::new(connection, self.terms.resumes())?))
    }

    /// Process the first `filled` bytes of the buffer.
    fn take(
        &mut self,
        wire: &mut Wire,
        filled: usize,
        receiver: &mut impl Receiver,
        sealed: &mut Vec<u8>,
    ) -> Result<Consumed, End> {
        let mut used = 0;
        if let State::Handshake(handshake) = &mut wire.state {
            let step = handshake.advance(&mut self.buffer[..filled], sealed);
            let Step {
                used: done_with,
                done,
            } = step.map_err(End::Broken)?;
            used = done_with;
            if !done {
                return Ok(Consumed {
                    used,
                    closed: false,
                });
            }
            let State::Handshake(handshake) = std::mem::replace(&mut wire.state, State::Failed)
            else {
                unreachable!("it was so above");
            };
            let Handshake {
                connection,
                early,
                closed,
            } = *handshake;
            wire.state = State::Open(self.settle(connection).map_err(End::Broken)?);
            receiver.secured();
            if !early.is_empty() {
                receiver.recv(&early)?;
            }
            if closed {
                return Ok(Consumed { used, closed });
            }
        }
        let State::Open(open) = &mut wire.state else {
            return Err(End::Broken(Failure::connect(OTHER_ALPN)));
        };
        let consumed = open.recv(&mut self.buffer[used..filled], receiver, sealed)?;
        Ok(Consumed {
            used: used + consumed.used,
            ..consumed
        })
    }
}

impl Wire {
    /// The failure that an error of the socket amounts to.
    fn failure(&self, why: &'static str) -> End {
        End::Broken(match self.state {
            State::Open(_) => Failure::read(why),
            _ => Failure::connect(why),
        })
    }
}

impl Layer for Tls<'_> {
    type Wire = Wire;

    fn begin(&mut self, target: usize) -> Result<Wire, Failure> {
        Ok(Wire {
            state: State::Fresh(target),
            carried: Vec::new(),
        })
    }

    fn greet(&mut self, wire: &mut Wire, sealed: &mut Vec<u8>) -> Result<bool, Failure> {
        // The keys are made here and not earlier: that is a part of the handshake's time.
        if let State::Fresh(target) = wire.state {
            let name = self.terms.names[target].clone();
            let mut handshake = Handshake::new(self.config.clone(), name)?;
            handshake.advance(&mut [], sealed)?;
            wire.state = State::Handshake(Box::new(handshake));
        }
        Ok(false)
    }

    fn receive(
        &mut self,
        wire: &mut Wire,
        socket: &OwnedFd,
        receiver: &mut impl Receiver,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, End> {
        let carried = wire.carried.len();
        let room = BUFFER - carried;
        if room == 0 {
            return Err(wire.failure("an endless TLS handshake"));
        }
        let buffer = &mut self.buffer[carried..];
        let length = match rustix::net::recv(socket, buffer, RecvFlags::empty()) {
            // Anyone on the path can end a TCP connection; only an alert proves that the server did.
            Ok((_, 0)) => return Ok(Received::Cut),
            Ok((_, length)) => length,
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            Err(Errno::INTR) => return Ok(Received::Some),
            Err(error) => return Err(wire.failure(socket_error::reason(error))),
        };
        if carried > 0 {
            self.buffer[..carried].copy_from_slice(&wire.carried);
            wire.carried = Vec::new();
        }
        let filled = carried + length;
        let Consumed { used, closed } = self.take(wire, filled, receiver, sealed)?;
        if closed {
            return Ok(Received::End);
        }
        if used < filled {
            wire.carried.extend_from_slice(&self.buffer[used..filled]);
        }
        // A short read empties the socket, so that asking again would be in vain.
        Ok(if length < room {
            Received::All
        } else {
            Received::Some
        })
    }

    fn taken(&mut self, wire: &mut Wire) {
        if let State::Open(open) = &mut wire.state {
            open.taken();
        }
    }

    fn seal(
        &mut self,
        wire: &mut Wire,
        plain: &mut Vec<u8>,
        sealed: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let State::Open(open) = &mut wire.state else {
            return Err(Failure::write("nothing can be sent yet"));
        };
        open.seal(plain, sealed)?;
        plain.clear();
        Ok(())
    }
}
