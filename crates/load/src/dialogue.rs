//! A protocol over a stream of bytes, without sockets, clocks or encryption.
//!
//! [`crate::stream::Stream`] makes a [`crate::protocol::Protocol`] of one: over TCP or a Unix
//! socket, plain or in TLS.

use crate::protocol::{End, Event, Failure, RequestId};

/// How the next bytes are best received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadHint {
    /// At most so many bytes, to be heard.
    Recv(usize),
    /// At most so many bytes, which nobody looks at. Only a plain stream can spare itself to copy
    /// them; any other lets them be heard.
    Discard(usize),
}

/// A dialogue as one thread leads it, with whatever its connections share.
pub trait Dialogue {
    /// One connection's state.
    type Connection;

    /// A fresh connection to the target of this number. What is said first goes to `out`.
    fn begin(&mut self, target: usize, out: &mut Vec<u8>) -> Self::Connection;

    /// How many more requests the connection takes now.
    fn room(&self, connection: &Self::Connection) -> usize;

    /// Appends `request` to `out`; only called while there is room.
    ///
    /// # Errors
    /// The connection's end, when nothing more can be asked on it.
    fn send(
        &mut self,
        connection: &mut Self::Connection,
        request: RequestId,
        out: &mut Vec<u8>,
    ) -> Result<(), End>;

    /// How the next bytes are best received.
    fn read_hint(&self, connection: &Self::Connection) -> ReadHint;

    /// Takes the next bytes, in whatever pieces they come; what is to be said to them goes to
    /// `out`, and what they mean to `events`.
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

    /// Goes on as if so many bytes had been heard, after an [`ReadHint::Discard`].
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
        Err(End::Broken(Failure::read("bytes that nobody wanted")))
    }

    /// The peer says no more: what that means to the answers in flight, and to the connection.
    fn recv_end(&mut self, connection: &mut Self::Connection, events: &mut Vec<Event>) -> End;

    /// Gives up one request. False when only closing the connection can do that.
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
