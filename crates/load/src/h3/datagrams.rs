//! UDP sockets that send and receive many datagrams per call, if the kernel can.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use quinn_proto::Transmit;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSocketState};
use rustix::io::Errno;

use crate::stream::endpoint::Endpoint;

/// Most bytes of one received buffer: as many datagrams as the kernel puts together.
const BUFFER: usize = 64 * 1024;

/// Most datagrams in one call: more would be longer than what UDP can carry.
const SEGMENTS: usize = 10;

/// Buffers that all sockets of a thread receive into.
#[derive(Debug)]
pub struct Buffers {
    bytes: Vec<Box<[u8]>>,
    meta: Vec<RecvMeta>,
}

impl Default for Buffers {
    fn default() -> Self {
        let buffer = || vec![0; BUFFER].into_boxed_slice();
        Buffers {
            bytes: (0..BATCH_SIZE).map(|_| buffer()).collect(),
            meta: vec![RecvMeta::default(); BATCH_SIZE],
        }
    }
}

/// One connection's socket.
#[derive(Debug)]
pub struct Socket {
    socket: OwnedFd,
    state: UdpSocketState,
    /// The datagrams that the kernel has not taken yet.
    unsent: Option<(Transmit, Vec<u8>)>,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Socket {
    /// A socket that exchanges datagrams with `server` only, the `number`th of its thread.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn new(endpoint: &Endpoint, server: SocketAddr, number: usize) -> io::Result<Self> {
        let socket = endpoint.datagrams(server, number)?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Socket {
            socket,
            state,
            unsent: None,
        })
    }

    /// Most datagrams that one call can send.
    pub fn batch(&self) -> usize {
        self.state.max_gso_segments().min(SEGMENTS)
    }

    /// Send the datagrams that were kept; return false if the kernel still does not take them.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn resend(&mut self) -> io::Result<bool> {
        match self.unsent.take() {
            Some((transmit, bytes)) => self.send(transmit, &bytes),
            None => Ok(true),
        }
    }

    /// Send datagrams; return false if they are kept for [`Socket::resend`].
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn send(&mut self, transmit: Transmit, bytes: &[u8]) -> io::Result<bool> {
        let ecn = transmit
            .ecn
            .and_then(|ecn| EcnCodepoint::from_bits(ecn as u8));
        let sent = self.state.try_send(
            (&self.socket).into(),
            &quinn_udp::Transmit {
                destination: transmit.destination,
                ecn,
                contents: &bytes[..transmit.size],
                segment_size: transmit.segment_size,
                src_ip: None,
            },
        );
        match sent {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.unsent = Some((transmit, bytes.to_vec()));
                Ok(false)
            }
            // QUIC notices by itself what is lost on the way.
            Err(error) if is_lost(&error, transmit.segment_size.is_some()) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Receive once and hand over each datagram; return false if there was nothing.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn receive(
        &mut self,
        buffers: &mut Buffers,
        mut take: impl FnMut(&RecvMeta, &[u8]),
    ) -> io::Result<bool> {
        let mut slices = buffers
            .bytes
            .iter_mut()
            .map(|buffer| IoSliceMut::new(buffer));
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| slices.next().expect("a buffer for each"));
        let received = self
            .state
            .recv((&self.socket).into(), &mut slices, &mut buffers.meta);
        let count = match received {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        for (meta, bytes) in buffers.meta[..count].iter().zip(&buffers.bytes) {
            let datagrams = bytes[..meta.len].chunks(meta.stride.max(1));
            datagrams.for_each(|datagram| take(meta, datagram));
        }
        Ok(count > 0)
    }
}

/// Return true if the kernel dropped datagrams that another path would have taken: one that is longer than
/// the network card's, as probes of the path's limit are, or several `at_once` where the card cannot part
/// them.
fn is_lost(error: &io::Error, at_once: bool) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    match number {
        Some(Errno::MSGSIZE) => true,
        Some(Errno::IO | Errno::INVAL) => at_once,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::stream::endpoint::Address;

    #[test]
    fn a_datagram_that_is_too_long_for_the_card_is_lost_and_no_failure() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let destination = server.local_addr().unwrap();
        let endpoint = Endpoint {
            addresses: vec![Address::Inet(destination)],
            sources: Vec::new(),
            congestion: None,
            proxy: None,
        };
        let mut socket = Socket::new(&endpoint, destination, 0).unwrap();
        let mut send = |size: usize| {
            let transmit = Transmit {
                destination,
                ecn: None,
                size,
                segment_size: None,
                src_ip: None,
            };
            socket.send(transmit, &vec![0; size])
        };
        assert!(matches!(send(66_000), Ok(true)));
        assert!(matches!(send(5), Ok(true)));
        assert_eq!(server.recv(&mut [0; 9]).unwrap(), 5);
    }
}
