//! What lies between a dialogue and its socket: nothing, or encryption.

use std::os::fd::OwnedFd;

use crate::dialogue::ReadHint;
use crate::protocol::{End, Failure};

/// What one receiving call left in the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// There was nothing.
    Nothing,
    /// There was less than asked for, so that nothing is left.
    All,
    /// There may be more.
    Some,
    /// The peer says no more.
    End,
    /// The socket's peer says no more, without the words by which the layer's peer would end: what
    /// only the end makes whole may have been cut short.
    Cut,
}

/// Who hears what is received.
pub trait Receiver {
    /// How the next bytes are best received.
    fn read_hint(&self) -> ReadHint;

    /// The handshake is done, and what it was to settle is settled.
    fn secured(&mut self);

    /// Takes bytes.
    ///
    /// # Errors
    /// The connection's end.
    fn recv(&mut self, bytes: &[u8]) -> Result<(), End>;

    /// Takes the number of bytes that were discarded.
    ///
    /// # Errors
    /// The connection's end.
    fn discard(&mut self, length: usize) -> Result<(), End>;
}

/// A layer as one thread has it, with whatever its connections share.
pub trait Layer {
    /// One connection's state.
    type Wire;

    /// A fresh connection to the target of this number.
    ///
    /// # Errors
    /// When the layer cannot begin one.
    fn begin(&mut self, target: usize) -> Result<Self::Wire, Failure>;

    /// The socket is connected: what the layer says first goes to `sealed`. Tells whether a dialogue
    /// may begin at once, because there is no handshake.
    ///
    /// # Errors
    /// When the handshake cannot begin.
    fn greet(&mut self, wire: &mut Self::Wire, sealed: &mut Vec<u8>) -> Result<bool, Failure>;

    /// Receives once from `socket` and lets `receiver` hear what came. What the layer itself must say
    /// goes to `sealed`.
    ///
    /// # Errors
    /// The connection's end.
    fn receive(
        &mut self,
        wire: &mut Self::Wire,
        socket: &OwnedFd,
        receiver: &mut impl Receiver,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, End>;

    /// Moves what is `said` to `sealed`, as it goes out.
    ///
    /// # Errors
    /// When the connection takes no more.
    fn seal(
        &mut self,
        wire: &mut Self::Wire,
        outgoing: &mut Vec<u8>,
        sealed: &mut Vec<u8>,
    ) -> Result<(), Failure>;
}
