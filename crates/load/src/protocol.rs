//! The interface between the engine and a protocol.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Names a request among those in flight on one connection.
pub type RequestId = usize;

/// Names an exchange, a request with its expected answer, among those of the run.
pub type ExchangeId = u32;

/// The kinds of failures, as they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// No usable connection was made.
    Connect,
    /// No connection was made in time.
    ConnectTimeout,
    /// The answer was cut short, malformed, or not asked for.
    Read,
    /// The request could not be sent.
    Write,
    /// The answer's status is not among the expected ones.
    Status,
    /// The answer's body is not the expected one.
    Body,
    /// The answer does not have a value that a later request needs.
    Value,
    /// The answer was not whole in time.
    Timeout,
    /// The answer did not begin in time.
    TtfbTimeout,
}

impl Kind {
    /// All kinds, in the order in which they are reported.
    pub const ALL: [Kind; 9] = [
        Kind::Connect,
        Kind::ConnectTimeout,
        Kind::Read,
        Kind::Write,
        Kind::Status,
        Kind::Body,
        Kind::Value,
        Kind::Timeout,
        Kind::TtfbTimeout,
    ];

    /// Its name in the formats.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Connect => "connect",
            Kind::ConnectTimeout => "connect_timeout",
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Status => "status",
            Kind::Body => "body",
            Kind::Value => "value",
            Kind::Timeout => "timeout",
            Kind::TtfbTimeout => "ttfb_timeout",
        }
    }
}

/// The reason why a request did not get a correct answer, or a connection was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind that it counts as.
    pub kind: Kind,
    /// A description in a few words.
    pub why: &'static str,
}

impl Failure {
    /// A failure to make a usable connection.
    pub const fn connect(why: &'static str) -> Self {
        Failure {
            kind: Kind::Connect,
            why,
        }
    }

    /// A failure to read a valid answer.
    pub const fn read(why: &'static str) -> Self {
        Failure {
            kind: Kind::Read,
            why,
        }
    }

    /// A failure to send a request.
    pub const fn write(why: &'static str) -> Self {
        Failure {
            kind: Kind::Write,
            why,
        }
    }
}

/// A whole answer to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request that it answers.
    pub request: RequestId,
    /// The protocol's own status code, below 1000.
    pub status: u16,
    /// Bytes of the answer as the protocol frames it.
    pub bytes: u64,
    /// Bytes of its body.
    pub body: u64,
    /// True if its header for that says that a cache had it; none without such a header.
    pub hit: Option<bool>,
    /// The failure, if the answer is not the expected one.
    pub failure: Option<Failure>,
    /// The place in the bytes of the connection at which it ends, from 1 on; 0 where answers come
    /// one after the other anyway.
    pub end: u64,
}

/// An event of a connection, or of a request on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The transport's connection is made; a handshake may follow.
    Connected,
    /// The handshake is done. Only protocols that have one report it.
    Secured,
    /// The first byte of the answer has come, but not the last. Reported at most once per request.
    Begun(RequestId),
    /// The answer is whole.
    Answered(Answer),
    /// The request failed, and the connection continues.
    Failed(RequestId, Failure),
    /// The server says that it has not processed the request, which may be sent on another
    /// connection; the failure is what it counts as if that comes to nothing.
    Refused(RequestId, Failure),
}

/// The reason why a connection is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The peer closed it, or asked to, between answers.
    Proper,
    /// It failed, and with it every request in flight on it.
    Broken(Failure),
}

/// The state in which a call of [`Protocol::ready`] left the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// All bytes that had arrived are read; new ones make a new edge.
    Drained,
    /// Bytes may be left: the call yields so that one peer cannot hold the thread.
    More,
}

/// A protocol as one thread speaks it: its buffers, and its operations on a connection.
///
/// Sockets are non-blocking and watched edge-triggered for reading and writing.
pub trait Protocol {
    /// One connection and what is in flight on it.
    type Connection: AsFd;

    /// Start to connect to the target of this number.
    ///
    /// # Errors
    /// [`End::Broken`] when the connection failed at once.
    fn open(&mut self, target: usize) -> Result<Self::Connection, End>;

    /// The number of further requests that the connection takes now; 0 before its handshakes are
    /// done.
    fn room(&self, connection: &Self::Connection) -> usize;

    /// Name what a connection without room and requests waits for: the reason when it waits for too long.
    fn awaited(&self, connection: &Self::Connection) -> &'static str;

    /// Take `request`, which is for `exchange`, to be sent by the next [`Protocol::flush`]; only called
    /// while there is room.
    ///
    /// # Errors
    /// The connection's end, if nothing can be sent any more.
    fn send(
        &mut self,
        connection: &mut Self::Connection,
        request: RequestId,
        exchange: ExchangeId,
    ) -> Result<(), End>;

    /// The bytes of the connection's requests that were taken so far, and what lies between them;
    /// 0 where that is no stream.
    fn taken(&self, connection: &Self::Connection) -> u64 {
        let _ = connection;
        0
    }

    /// Send the requests taken since the last call on this connection, or begin to.
    ///
    /// # Errors
    /// The connection's end, if nothing can be sent any more.
    fn flush(&mut self, connection: &mut Self::Connection) -> Result<(), End>;

    /// Continue after an edge: connect, send the rest, read, and append the events. `hangup` says
    /// that the peer has shut down or reset.
    ///
    /// # Errors
    /// The connection's end; events appended before it are valid.
    fn ready(
        &mut self,
        connection: &mut Self::Connection,
        hangup: bool,
        events: &mut Vec<Event>,
    ) -> Result<Reading, End>;

    /// A socket that the connection has opened beside its first one, and that is to be watched as well;
    /// each is returned once.
    fn unwatched<'c>(&mut self, connection: &'c mut Self::Connection) -> Option<BorrowedFd<'c>> {
        let _ = connection;
        None
    }

    /// Give up one request; its answer is no longer reported. Return false if only closing the
    /// connection can do that.
    fn cancel(&mut self, connection: &mut Self::Connection, request: RequestId) -> bool {
        let _ = (connection, request);
        false
    }

    /// The time at which [`Protocol::expire`] must be called next, if any.
    fn timer(&mut self, connection: &mut Self::Connection) -> Option<Instant> {
        let _ = connection;
        None
    }

    /// Handle the timer when it is due.
    ///
    /// # Errors
    /// The connection's end; events appended before it are valid.
    fn expire(
        &mut self,
        connection: &mut Self::Connection,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let _ = (connection, events);
        Ok(())
    }
}
