//! No encryption.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::layer::{Layer, Received, Receiver};
use super::socket_error::reason;
use crate::dialogue::ReadHint;
use crate::protocol::{End, Failure};

/// Most bytes that one call receives.
const BUFFER: usize = 256 * 1024;

/// The bytes of a stream as they are.
#[derive(Debug)]
pub struct Plain {
    buffer: Box<[u8]>,
}

impl Default for Plain {
    fn default() -> Self {
        Plain {
            buffer: vec![0; BUFFER].into_boxed_slice(),
        }
    }
}

impl Layer for Plain {
    type Wire = ();

    fn begin(&mut self, _: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn greet(&mut self, (): &mut (), _: &mut Vec<u8>) -> Result<bool, Failure> {
        Ok(true)
    }

    fn receive(
        &mut self,
        (): &mut (),
        socket: &OwnedFd,
        receiver: &mut impl Receiver,
        _: &mut Vec<u8>,
    ) -> Result<Received, End> {
        let read_hint = receiver.read_hint();
        let (room, flags) = match read_hint {
            ReadHint::Recv(most) => (BUFFER.min(most), RecvFlags::empty()),
            // The kernel drops the bytes instead of copying them.
            ReadHint::Discard(most) => (BUFFER.min(most), RecvFlags::TRUNC),
        };
        let length = match rustix::net::recv(socket, &mut self.buffer[..room], flags) {
            Ok((_, 0)) => return Ok(Received::End),
            Ok((_, length)) => length,
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            Err(Errno::INTR) => return Ok(Received::Some),
            Err(error) => return Err(End::Broken(Failure::read(reason(error)))),
        };
        match read_hint {
            ReadHint::Recv(_) => receiver.recv(&self.buffer[..length])?,
            ReadHint::Discard(_) => receiver.discard(length)?,
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
        (): &mut (),
        outgoing: &mut Vec<u8>,
        sealed: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        if sealed.is_empty() {
            std::mem::swap(outgoing, sealed);
        } else {
            sealed.append(outgoing);
        }
        Ok(())
    }
}
