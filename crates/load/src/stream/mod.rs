//! Makes a [`Protocol`] of a [`Dialogue`]: sockets, partial sends, and a layer of encryption.

pub mod addresses;
pub mod endpoint;
pub mod layer;
pub mod link;
pub mod plain;
pub mod proxy_header;
pub mod race;
pub(crate) mod socket_error;
pub mod tls;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::SendFlags;

use self::addresses::Addresses;
use self::endpoint::Endpoint;
use self::layer::{Layer, Received, Receiver};
use self::link::Link;
use self::socket_error::reason;
use crate::dialogue::{Dialogue, ReadHint};
use crate::protocol::{End, Event, ExchangeId, Failure, Protocol, Reading, RequestId};

/// Calls in a row after which a connection yields to the others of its thread.
const READS: usize = 16;

const UNUSED: End = End::Broken(Failure::connect("closed before it could be used"));

/// A dialogue over sockets, as one thread runs it.
#[derive(Debug)]
pub struct Stream<'a, D, L> {
    endpoints: &'a [Endpoint],
    addresses: Addresses,
    dialogue: D,
    layer: L,
    opened: usize,
    /// The dialogue's bytes, until their connection is flushed.
    outgoing: Vec<u8>,
    /// The same bytes as they are sent.
    sealed: Vec<u8>,
}

/// One connection.
#[derive(Debug)]
pub struct Connection<T, W> {
    link: Link,
    target: usize,
    wire: W,
    /// The dialogue's state; none until requests may be sent.
    session: Option<T>,
    /// The dialogue's bytes that were flushed.
    flushed: u64,
    /// The bytes that the socket has not taken yet.
    unsent: Vec<u8>,
}

impl<T, W> AsFd for Connection<T, W> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.socket().as_fd()
    }
}

impl<'a, D: Dialogue, L: Layer> Stream<'a, D, L> {
    /// A thread's own `dialogue` and `layer`, for the targets at `endpoints`.
    pub fn new(endpoints: &'a [Endpoint], dialogue: D, layer: L) -> Self {
        Stream {
            endpoints,
            addresses: Addresses::new(endpoints.iter().map(|each| each.addresses.len())),
            dialogue,
            layer,
            opened: 0,
            outgoing: Vec::new(),
            sealed: Vec::new(),
        }
    }

    fn advance(
        &mut self,
        connection: &mut Connection<D::Connection, L::Wire>,
        hangup: bool,
        events: &mut Vec<Event>,
    ) -> Result<Reading, End> {
        let unused = connection.session.is_none();
        if !connection.link.is_connected() {
            if !self.settle(connection)? {
                return Ok(Reading::Drained);
            }
            events.push(Event::Connected);
            let endpoint = &self.endpoints[connection.target];
            endpoint::greet(endpoint, connection.link.socket(), &mut self.sealed);
            let greeted = self.layer.greet(&mut connection.wire, &mut self.sealed);
            if greeted.map_err(End::Broken)? {
                connection.session =
                    Some(self.dialogue.begin(connection.target, &mut self.outgoing));
            }
        }
        for _ in 0..READS {
            let mut receiver = Inbound {
                dialogue: &mut self.dialogue,
                target: connection.target,
                session: &mut connection.session,
                outgoing: &mut self.outgoing,
                events,
            };
            let received = self.layer.receive(
                &mut connection.wire,
                connection.link.socket(),
                &mut receiver,
                &mut self.sealed,
            )?;
            match received {
                Received::Nothing => return Ok(Reading::Drained),
                // After a hang-up only the end of the stream, or an error, leaves nothing to read.
                Received::All if !hangup => return Ok(Reading::Drained),
                Received::All | Received::Some => {}
                // Between answers a server may close, but there was no time for a request.
                Received::End | Received::Cut if unused => return Err(UNUSED),
                Received::End => return Err(self.ended(connection, events)),
                Received::Cut => return Err(self.cut(connection, events)),
            }
        }
        Ok(Reading::More)
    }

    /// Return true if one of the attempts to connect has succeeded.
    fn settle(&mut self, connection: &mut Connection<D::Connection, L::Wire>) -> Result<bool, End> {
        let target = connection.target;
        let settled = connection
            .link
            .settle(&self.endpoints[target], &mut self.opened);
        match settled {
            Ok(true) => self.addresses.reached(target, connection.link.address()),
            Ok(false) => {}
            Err(_) => self.addresses.failed(target),
        }
        settled.map_err(|error| End::Broken(Failure::connect(reason(error))))
    }

    fn ended(
        &mut self,
        connection: &mut Connection<D::Connection, L::Wire>,
        events: &mut Vec<Event>,
    ) -> End {
        match &mut connection.session {
            Some(session) => self.dialogue.recv_end(session, events),
            None => UNUSED,
        }
    }

    /// Like [`Self::ended`], but an answer that only the connection's end completes does not count.
    fn cut(
        &mut self,
        connection: &mut Connection<D::Connection, L::Wire>,
        events: &mut Vec<Event>,
    ) -> End {
        let told = events.len();
        let end = self.ended(connection, events);
        if events.len() == told {
            return end;
        }
        events.truncate(told);
        End::Broken(Failure::read("closed without close_notify"))
    }

    fn transmit(&mut self, connection: &mut Connection<D::Connection, L::Wire>) -> Result<(), End> {
        if !self.outgoing.is_empty() {
            connection.flushed += self.outgoing.len() as u64;
            self.layer
                .seal(&mut connection.wire, &mut self.outgoing, &mut self.sealed)
                .map_err(End::Broken)?;
        }
        if connection.unsent.is_empty() {
            let sent = put(connection.link.socket(), &self.sealed)?;
            connection.unsent.extend_from_slice(&self.sealed[sent..]);
        } else {
            connection.unsent.extend_from_slice(&self.sealed);
            let sent = put(connection.link.socket(), &connection.unsent)?;
            connection.unsent.drain(..sent);
        }
        self.sealed.clear();
        if connection.unsent.is_empty() {
            self.layer.taken(&mut connection.wire);
            if let Some(session) = &mut connection.session {
                self.dialogue.taken(session);
            }
        }
        Ok(())
    }

    /// Drop the bytes of a connection that has ended, so that none go to the next one.
    fn forget(&mut self) {
        self.outgoing.clear();
        self.sealed.clear();
    }
}

impl<D: Dialogue, L: Layer> Protocol for Stream<'_, D, L> {
    type Connection = Connection<D::Connection, L::Wire>;

    fn open(&mut self, target: usize) -> Result<Self::Connection, End> {
        let wire = self.layer.begin(target).map_err(End::Broken)?;
        let order = self.addresses.order(target);
        let link = Link::open(&self.endpoints[target], order, &mut self.opened);
        let link = link.map_err(|error| {
            self.addresses.failed(target);
            End::Broken(Failure::connect(reason(error)))
        })?;
        Ok(Connection {
            link,
            target,
            wire,
            session: None,
            flushed: 0,
            unsent: Vec::new(),
        })
    }

    fn room(&self, connection: &Self::Connection) -> usize {
        connection
            .session
            .as_ref()
            .map_or(0, |session| self.dialogue.room(session))
    }

    fn awaited(&self, connection: &Self::Connection) -> &'static str {
        match &connection.session {
            _ if !connection.link.is_connected() => "no connection in time",
            // No other layer has one.
            None => "no TLS handshake in time",
            Some(session) => self.dialogue.awaited(session),
        }
    }

    fn send(
        &mut self,
        connection: &mut Self::Connection,
        request: RequestId,
        exchange: ExchangeId,
    ) -> Result<(), End> {
        let Some(session) = &mut connection.session else {
            return Err(End::Broken(Failure::write("nothing can be sent yet")));
        };
        let taken = self
            .dialogue
            .send(session, request, exchange, &mut self.outgoing);
        taken.inspect_err(|_| self.forget())
    }

    fn taken(&self, connection: &Self::Connection) -> u64 {
        connection.flushed + self.outgoing.len() as u64
    }

    fn flush(&mut self, connection: &mut Self::Connection) -> Result<(), End> {
        if !connection.link.is_connected()
            || self.outgoing.is_empty() && self.sealed.is_empty() && connection.unsent.is_empty()
        {
            return Ok(());
        }
        self.transmit(connection).map_err(|end| {
            self.forget();
            match end {
                // What cannot be sent then is the handshake.
                End::Broken(Failure { why, .. }) if connection.session.is_none() => {
                    End::Broken(Failure::connect(why))
                }
                end => end,
            }
        })
    }

    fn ready(
        &mut self,
        connection: &mut Self::Connection,
        hangup: bool,
        events: &mut Vec<Event>,
    ) -> Result<Reading, End> {
        self.advance(connection, hangup, events)
            .inspect_err(|_| self.forget())
    }

    fn unwatched<'c>(&mut self, connection: &'c mut Self::Connection) -> Option<BorrowedFd<'c>> {
        connection.link.unwatched()
    }

    fn timer(&mut self, connection: &mut Self::Connection) -> Option<Instant> {
        connection.link.timer()
    }

    fn expire(&mut self, connection: &mut Self::Connection, _: &mut Vec<Event>) -> Result<(), End> {
        let endpoint = &self.endpoints[connection.target];
        connection.link.expire(endpoint, &mut self.opened);
        Ok(())
    }

    fn cancel(&mut self, connection: &mut Self::Connection, request: RequestId) -> bool {
        let Some(session) = &mut connection.session else {
            return false;
        };
        let given_up = self.dialogue.cancel(session, request, &mut self.outgoing);
        if !given_up {
            // The connection is closed then.
            self.forget();
        }
        given_up
    }
}

/// The receiving side of one connection's dialogue.
struct Inbound<'a, D: Dialogue> {
    dialogue: &'a mut D,
    target: usize,
    session: &'a mut Option<D::Connection>,
    outgoing: &'a mut Vec<u8>,
    events: &'a mut Vec<Event>,
}

impl<D: Dialogue> Receiver for Inbound<'_, D> {
    fn read_hint(&self) -> ReadHint {
        let session = self.session.as_ref();
        session.map_or(ReadHint::Recv(usize::MAX), |session| {
            self.dialogue.read_hint(session)
        })
    }

    fn secured(&mut self) {
        self.events.push(Event::Secured);
        *self.session = Some(self.dialogue.begin(self.target, self.outgoing));
    }

    fn recv(&mut self, bytes: &[u8]) -> Result<(), End> {
        match self.session {
            Some(session) => self
                .dialogue
                .recv(session, bytes, self.outgoing, self.events),
            None => Err(End::Broken(Failure::read("bytes before the handshake"))),
        }
    }

    fn discard(&mut self, length: usize) -> Result<(), End> {
        match self.session {
            Some(session) => self.dialogue.discard(session, length, self.events),
            None => Err(End::Broken(Failure::read("bytes before the handshake"))),
        }
    }
}

/// Send as much as the socket takes; return the number of bytes.
fn put(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, End> {
    let mut sent = 0;
    while sent < bytes.len() {
        match rustix::net::send(socket, &bytes[sent..], SendFlags::NOSIGNAL) {
            Ok(length) => sent += length,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(End::Broken(Failure::write(reason(error)))),
        }
    }
    Ok(sent)
}
