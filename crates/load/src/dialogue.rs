//! A protocol over a stream of bytes, without sockets, clocks or encryption.
//!
//! [`crate::stream::Stream`] makes a [`crate::protocol::Protocol`] of one: over TCP or a Unix
//! socket, plain or in TLS.

use crate::protocol::{End, Event, ExchangeId, Failure, RequestId};

/// The best way to receive the next bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadHint {
    /// Receive at most this many bytes.
    Recv(usize),
    /// Discard at most this many bytes: nobody reads them. Only a plain stream can spare itself the
    /// copy; any other layer receives them.
    Discard(usize),
}

/// A protocol over a stream of bytes as one thread speaks it, with the state that its connections
/// share.
pub trait Dialogue {
    /// One connection's state.
    type Connection;

    /// A fresh connection to the target of this number; append its first bytes, if any, to `out`.
    fn begin(&mut self, target: usize, out: &mut Vec<u8>) -> Self::Connection;

    /// The number of further requests that the connection takes now.
    fn room(&self, connection: &Self::Connection) -> usize;

    /// Name what a connection without room and requests waits for: the reason when it waits for too long.
    fn awaited(&self, connection: &Self::Connection) -> &'static str {
        let _ = connection;
        "no usable connection in time"
    }

    /// Append `request`, which is for `exchange`, to `out`; only called while there is room.
    ///
    /// # Errors
    /// The connection's end, when it takes no more requests.
    fn send(
        &mut self,
        connection: &mut Self::Connection,
        request: RequestId,
        exchange: ExchangeId,
        out: &mut Vec<u8>,
    ) -> Result<(), End>;

    /// The best way to receive the next bytes.
    fn read_hint(&self, connection: &Self::Connection) -> ReadHint;

    /// Take the next bytes, in pieces of any size. Append the reply to `out` and what happened to
    /// `events`.
    ///
    /// # Errors
    /// The connection's end; events appended before it are valid.
    fn recv(
        &mut self,
        connection: &mut Self::Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End>;

    /// Go on as if `length` bytes had been received, after a [`ReadHint::Discard`].
    ///
    /// # Errors
    /// The connection's end; events appended before it are valid.
    fn discard(
        &mut self,
        connection: &mut Self::Connection,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let _ = (connection, length, events);
        Err(End::Broken(Failure::read("bytes that cannot be discarded")))
    }

    /// Note that the socket has taken all bytes that were appended so far.
    fn taken(&mut self, connection: &mut Self::Connection) {
        let _ = connection;
    }

    /// The way in which the connection ends now that the peer has closed its side. An answer that
    /// this completes goes to `events`.
    fn recv_end(&mut self, connection: &mut Self::Connection, events: &mut Vec<Event>) -> End;

    /// Give up one request. Return false if only closing the connection can do that.
    fn cancel(
        &mut self,
        connection: &mut Self::Connection,
        request: RequestId,
        out: &mut Vec<u8>,
    ) -> bool {
        let _ = (connection, request, out);
        false
    }
}
