//! UDP sockets that send and receive many datagrams per call, if the kernel can.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use quinn_proto::Transmit;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSocketState};

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
