//! The layer between a dialogue and its socket: nothing, or encryption.

use std::os::fd::OwnedFd;

use crate::dialogue::ReadHint;
use crate::protocol::{End, Failure};

/// The state in which one receiving call left the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// There was nothing.
    Nothing,
    /// There was less than requested, so that nothing is left.
    All,
    /// There may be more.
    Some,
    /// The peer has closed its side.
    End,
    /// The socket's peer has closed without ending the layer's session: an answer that only the end
    /// makes whole may be cut short.
    Cut,
}

/// Takes the bytes that a layer receives.
pub trait Receiver {
    /// The best way to receive the next bytes.
    fn read_hint(&self) -> ReadHint;

    /// Note that the handshake is done and its result accepted.
    fn secured(&mut self);

    /// Take bytes.
    ///
    /// # Errors
    /// The connection's end.
    fn recv(&mut self, bytes: &[u8]) -> Result<(), End>;

    /// Take the number of bytes that were discarded.
    ///
    /// # Errors
    /// The connection's end.
    fn discard(&mut self, length: usize) -> Result<(), End>;
}

/// A layer as one thread has it, with the state that its connections share.
pub trait Layer {
    /// One connection's state.
    type Wire;

    /// A fresh connection to the target of this number.
    ///
    /// # Errors
    /// When the layer cannot begin one.
    fn begin(&mut self, target: usize) -> Result<Self::Wire, Failure>;

    /// Begin on a connected socket: append the layer's first bytes to `sealed`. Return true if the
    /// dialogue may begin at once, because there is no handshake.
    ///
    /// # Errors
    /// When the handshake cannot begin.
    fn greet(&mut self, wire: &mut Self::Wire, sealed: &mut Vec<u8>) -> Result<bool, Failure>;

    /// Receive once from `socket` and pass the content on to `receiver`. Append the layer's own
    /// replies to `sealed`.
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

    /// Note that the socket has taken all bytes that were sealed so far.
    fn taken(&mut self, wire: &mut Self::Wire) {
        let _ = wire;
    }

    /// Move the bytes of `outgoing` to `sealed`, in the form in which they are sent.
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
