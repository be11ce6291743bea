//! TLS 1.2 and 1.3 (RFC 5246, RFC 8446).
//!
//! rustls leads the handshakes. It copies every record into memory of its own, so that those after
//! the handshake are left to [`open`]: decrypted where they were received, and heard from there. For
//! these the ciphers are ring's, which use vectors of AES instructions (VAES) on CPUs without
//! AVX-512 as well: half the time of AWS-LC's there, which makes the handshakes.

pub mod names;
pub mod open;
pub mod reason;
pub mod record;
pub mod seen;
pub mod shaking;
pub mod terms;
pub mod verify;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;

use self::open::{Heard, Open};
use self::reason::OTHER_ALPN;
use self::seen::Negotiated;
use self::shaking::{Shaking, Step};
use self::terms::Terms;
use super::layer::{Ear, Layer, Received};
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
    /// The beginning of a record whose rest has not arrived; while the handshake lasts, what rustls
    /// has not done with.
    carried: Vec<u8>,
}

#[derive(Debug)]
enum State {
    /// Not connected yet, to the target of this number.
    Fresh(usize),
    Shaking(Box<Shaking>),
    Open(Box<Open>),
    /// The handshake has come to something else than asked for.
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

    /// Checks what the handshake has come to.
    fn settle(&self, connection: UnbufferedClientConnection) -> Result<Box<Open>, Failure> {
        let asked = self.terms.alpn();
        match connection.alpn_protocol() {
            Some(chosen) if chosen == asked => {}
            None if asked == HTTP1 => {}
            _ => return Err(Failure::connect(OTHER_ALPN)),
        }
        let negotiated = Negotiated::of(&connection);
        self.terms.seen.add(connection.handshake_kind(), negotiated);
        Ok(Box::new(Open::new(connection, self.terms.resumes())?))
    }

    /// Goes on with the first `filled` bytes of the buffer.
    fn take(
        &mut self,
        wire: &mut Wire,
        filled: usize,
        ear: &mut impl Ear,
        sealed: &mut Vec<u8>,
    ) -> Result<Heard, End> {
        let mut used = 0;
        if let State::Shaking(shaking) = &mut wire.state {
            let step = shaking.advance(&mut self.buffer[..filled], sealed);
            let Step {
                used: done_with,
                done,
            } = step.map_err(End::Broken)?;
            used = done_with;
            if !done {
                return Ok(Heard {
                    used,
                    closed: false,
                });
            }
            let State::Shaking(shaking) = std::mem::replace(&mut wire.state, State::Failed) else {
                unreachable!("it was so above");
            };
            let Shaking {
                connection,
                early,
                closed,
            } = *shaking;
            wire.state = State::Open(self.settle(connection).map_err(End::Broken)?);
            ear.secured();
            if !early.is_empty() {
                ear.hear(&early)?;
            }
            if closed {
                return Ok(Heard { used, closed });
            }
        }
        let State::Open(open) = &mut wire.state else {
            return Err(End::Broken(Failure::connect(OTHER_ALPN)));
        };
        let heard = open.hear(&mut self.buffer[used..filled], ear, sealed)?;
        Ok(Heard {
            used: used + heard.used,
            ..heard
        })
    }
}

impl Wire {
    /// A failure of the socket.
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
            let mut shaking = Shaking::new(self.config.clone(), name)?;
            shaking.advance(&mut [], sealed)?;
            wire.state = State::Shaking(Box::new(shaking));
        }
        Ok(false)
    }

    fn receive(
        &mut self,
        wire: &mut Wire,
        socket: &OwnedFd,
        ear: &mut impl Ear,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, End> {
        let carried = wire.carried.len();
        let room = BUFFER - carried;
        if room == 0 {
            return Err(wire.failure("an endless TLS handshake"));
        }
        let buffer = &mut self.buffer[carried..];
        let length = match rustix::net::recv(socket, buffer, RecvFlags::empty()) {
            // Anybody can end a TCP connection: only an alert tells that the server did.
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
        let Heard { used, closed } = self.take(wire, filled, ear, sealed)?;
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

    fn seal(
        &mut self,
        wire: &mut Wire,
        said: &mut Vec<u8>,
        sealed: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let State::Open(open) = &mut wire.state else {
            return Err(Failure::write("nothing can be sent yet"));
        };
        open.seal(said, sealed)?;
        said.clear();
        Ok(())
    }
}
