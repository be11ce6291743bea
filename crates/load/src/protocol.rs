//! What the engine asks of a protocol, and all that it knows of one.

use std::os::fd::AsFd;

/// Names a request among those in flight on one connection.
pub type RequestId = usize;

/// Why a request did not get a correct answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection could be made.
    Connect,
    /// The answer was cut short, malformed, or not asked for.
    Read,
    /// The request could not be sent.
    Write,
    /// The answer's status is not among the expected ones.
    Status,
    /// The answer's body is not the expected one.
    Body,
    /// No answer came in time.
    Timeout,
}

/// A whole answer to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request that it answers.
    pub request: RequestId,
    /// The protocol's own status code, below 1000.
    pub status: u16,
    /// Bytes of the answer as received, framing included.
    pub bytes: u64,
    /// What the oracle found wrong with it.
    pub failure: Option<Failure>,
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

    /// Starts to connect.
    ///
    /// # Errors
    /// [`End::Broken`] when the connection failed at once.
    fn open(&mut self) -> Result<Self::Connection, End>;

    /// How many more requests the connection takes now: none while it connects.
    fn room(&self, connection: &Self::Connection) -> usize;

    /// Sends `request`, or begins to; only called while there is room.
    ///
    /// # Errors
    /// The connection's end, when it can no more be sent on.
    fn send(&mut self, connection: &mut Self::Connection, request: RequestId) -> Result<(), End>;

    /// Goes on after an edge: connects, sends the rest, reads, and appends whole answers to
    /// `answers`. `hangup` tells that the peer has shut down or reset.
    ///
    /// # Errors
    /// The connection's end; answers appended before it are valid.
    fn ready(
        &mut self,
        connection: &mut Self::Connection,
        hangup: bool,
        answers: &mut Vec<Answer>,
    ) -> Result<Reading, End>;
}
