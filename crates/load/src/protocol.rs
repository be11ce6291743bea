//! What the engine asks of a protocol, and all that it knows of one.

use std::os::fd::AsFd;
use std::time::Instant;

/// Names a request among those in flight on one connection.
pub type RequestId = usize;

/// The kinds of failures, as they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// No connection that can be used was made.
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
    /// The answer was not whole in time.
    Timeout,
    /// The answer did not begin in time.
    DelayTimeout,
}

impl Kind {
    /// All kinds, in the order in which they are told.
    pub const ALL: [Kind; 8] = [
        Kind::Connect,
        Kind::ConnectTimeout,
        Kind::Read,
        Kind::Write,
        Kind::Status,
        Kind::Body,
        Kind::Timeout,
        Kind::DelayTimeout,
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
            Kind::Timeout => "timeout",
            Kind::DelayTimeout => "delay_timeout",
        }
    }
}

/// Why a request did not get a correct answer, or a connection was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it counts as.
    pub kind: Kind,
    /// What happened, in a few words for people.
    pub why: &'static str,
}

impl Failure {
    /// No connection that can be used.
    pub const fn connect(why: &'static str) -> Self {
        Failure {
            kind: Kind::Connect,
            why,
        }
    }

    /// An answer that is none.
    pub const fn read(why: &'static str) -> Self {
        Failure {
            kind: Kind::Read,
            why,
        }
    }

    /// A request that did not go out.
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
    /// What the oracle found wrong with it.
    pub failure: Option<Failure>,
}

/// What became of a connection or of a request on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The transport's connection is made; a handshake may follow.
    Connected,
    /// The handshake is done. Only told by protocols that have one.
    Secured,
    /// The first byte of the answer has come, but not yet the last. Told at most once a request.
    Begun(RequestId),
    /// The answer is whole.
    Answered(Answer),
    /// The request failed, and the connection goes on.
    Failed(RequestId, Failure),
}

/// Why a connection is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The peer closed it, or asked for that, between answers.
    Proper,
    /// It failed, and with it every request in flight on it.
    Broken(Failure),
}

/// Where a call of [`Protocol::ready`] left the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// What had arrived is read; new bytes make a new edge.
    Drained,
    /// Bytes may be left: the call yields so that one peer cannot hold the thread.
    More,
}

/// A protocol as one thread speaks it: its buffers, and what it does with a connection.
///
/// Sockets are non-blocking and watched edge-triggered for reading and writing.
pub trait Protocol {
    /// One connection and what is in flight on it.
    type Connection: AsFd;

    /// Starts to connect to the target of this number.
    ///
    /// # Errors
    /// [`End::Broken`] when the connection failed at once.
    fn open(&mut self, target: usize) -> Result<Self::Connection, End>;

    /// How many more requests the connection takes now: none before its handshakes are done.
    fn room(&self, connection: &Self::Connection) -> usize;

    /// Takes `request`, to go out by the next [`Protocol::flush`]; only called while there is room.
    ///
    /// # Errors
    /// The connection's end, when it can no more be sent on.
    fn send(&mut self, connection: &mut Self::Connection, request: RequestId) -> Result<(), End>;

    /// Sends what was taken since the last call, on this connection, or begins to.
    ///
    /// # Errors
    /// The connection's end, when it can no more be sent on.
    fn flush(&mut self, connection: &mut Self::Connection) -> Result<(), End>;

    /// Goes on after an edge: connects, sends the rest, reads, and appends what came of it to
    /// `events`. `hangup` tells that the peer has shut down or reset.
    ///
    /// # Errors
    /// The connection's end; events appended before it are valid.
    fn ready(
        &mut self,
        connection: &mut Self::Connection,
        hangup: bool,
        events: &mut Vec<Event>,
    ) -> Result<Reading, End>;

    /// Gives up one request, whose answer is then no more told. False when only closing the
    /// connection can do that.
    fn cancel(&mut self, connection: &mut Self::Connection, request: RequestId) -> bool {
        let _ = (connection, request);
        false
    }

    /// When [`Protocol::expire`] is to be called next, if ever.
    fn timer(&mut self, connection: &mut Self::Connection) -> Option<Instant> {
        let _ = connection;
        None
    }

    /// Goes on when the timer is due.
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
