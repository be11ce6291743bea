//! HTTP/1.1 over TCP, one request at a time on a kept-alive connection.

pub mod chunked;
pub mod head;
pub mod request;
pub mod response;

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};

use self::head::HeadReader;
use self::response::Response;
use crate::oracle::Expectation;
use crate::protocol::{Answer, End, Failure, Protocol, Reading, RequestId};
use crate::tcp;

/// What is no HTTP/1.1 response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Most bytes that one call receives.
const BUFFER: usize = 256 * 1024;

/// Bytes that a response's first call receives: a head and a small body. The rest of a larger one
/// is discarded in the kernel, which spares a tenth of the CPU time at 20 KB.
const FIRST: usize = 4 * 1024;

/// Calls in a row after which a connection yields to the others of its thread.
const READS: usize = 16;

/// Where requests go, what they are, and what their answers must be.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The server's address.
    pub address: SocketAddr,
    /// The request's method.
    pub method: http::Method,
    /// The request as it is sent.
    pub request: Vec<u8>,
    /// What a correct answer looks like.
    pub expect: Expectation,
}

/// HTTP/1.1 as one thread speaks it.
#[derive(Debug)]
pub struct H1<'a> {
    exchange: &'a Exchange,
    heads: HeadReader,
    buffer: Box<[u8]>,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    connected: bool,
    request: Option<RequestId>,
    /// Bytes of the request that the socket has taken.
    sent: usize,
    response: Response,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl<'a> H1<'a> {
    /// A thread's own buffers around the common `exchange`.
    pub fn new(exchange: &'a Exchange) -> Self {
        H1 {
            exchange,
            heads: HeadReader::new(&exchange.method),
            buffer: vec![0; BUFFER].into_boxed_slice(),
        }
    }

    fn send_rest(&self, connection: &mut Connection) -> Result<(), End> {
        while connection.sent < self.exchange.request.len() {
            let rest = &self.exchange.request[connection.sent..];
            match rustix::net::send(&connection.socket, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => connection.sent += sent,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(_) => return Err(End::Broken(Failure::Write)),
            }
        }
        Ok(())
    }

    /// Receives once. After a hang-up only the end of the stream, or an error, leaves nothing to read.
    fn receive(
        &mut self,
        connection: &mut Connection,
        hangup: bool,
        answers: &mut Vec<Answer>,
    ) -> Result<Reading, End> {
        let unseen = connection.response.unseen();
        let (room, flags) = match unseen {
            // The byte more than the rest shows a body that is too long.
            Some(rest) => (BUFFER.min(rest.saturating_add(1)), RecvFlags::TRUNC),
            None if connection.response.bytes() == 0 => (FIRST, RecvFlags::empty()),
            None => (BUFFER, RecvFlags::empty()),
        };
        match rustix::net::recv(&connection.socket, &mut self.buffer[..room], flags) {
            Ok((_, 0)) => Err(self.closed(connection, answers)),
            Ok((_, length)) => {
                let whole = self.take(connection, length, unseen.is_some(), answers)?;
                // A short read empties the socket, so that asking again would be in vain.
                let drained = !hangup && (whole || length < room);
                Ok(if drained {
                    Reading::Drained
                } else {
                    Reading::More
                })
            }
            Err(Errno::AGAIN) => Ok(Reading::Drained),
            Err(Errno::INTR) => Ok(Reading::More),
            Err(_) => Err(End::Broken(Failure::Read)),
        }
    }

    /// Takes `length` bytes, of the buffer or discarded ones; true when they end the response.
    fn take(
        &mut self,
        connection: &mut Connection,
        length: usize,
        discarded: bool,
        answers: &mut Vec<Answer>,
    ) -> Result<bool, End> {
        const BROKEN: End = End::Broken(Failure::Read);
        // Bytes that no request asked for, also those after the response's end, make it untrue.
        let request = connection.request.ok_or(BROKEN)?;
        let response = &mut connection.response;
        let end = if discarded {
            response.skip(length)
        } else {
            response.feed(&self.buffer[..length], &mut self.heads)
        };
        match end {
            Ok(None) => return Ok(false),
            Ok(Some(end)) if end == length => {}
            Ok(Some(_)) | Err(Malformed) => return Err(BROKEN),
        }
        self.finish(connection, request, answers);
        // A server that answers before it has read the request will not read it.
        if connection.response.keep_alive() && connection.sent == self.exchange.request.len() {
            Ok(true)
        } else {
            Err(End::Proper)
        }
    }

    fn finish(&self, connection: &mut Connection, request: RequestId, answers: &mut Vec<Answer>) {
        connection.request = None;
        let response = &mut connection.response;
        let status = response.status();
        answers.push(Answer {
            request,
            status,
            bytes: response.bytes(),
            failure: self.exchange.expect.judge(status, response.witness()),
        });
    }

    fn closed(&self, connection: &mut Connection, answers: &mut Vec<Answer>) -> End {
        match connection.request {
            None => End::Proper,
            Some(request) if connection.response.ends_by_close() => {
                self.finish(connection, request, answers);
                End::Proper
            }
            Some(_) => End::Broken(Failure::Read),
        }
    }
}

impl Protocol for H1<'_> {
    type Connection = Connection;

    fn open(&mut self) -> Result<Connection, End> {
        let socket =
            tcp::connect(&self.exchange.address).map_err(|_| End::Broken(Failure::Connect))?;
        Ok(Connection {
            socket,
            connected: false,
            request: None,
            sent: 0,
            response: Response::new(&self.exchange.expect),
        })
    }

    fn room(&self, connection: &Connection) -> usize {
        usize::from(connection.connected && connection.request.is_none())
    }

    fn send(&mut self, connection: &mut Connection, request: RequestId) -> Result<(), End> {
        connection.request = Some(request);
        connection.sent = 0;
        connection.response.reset();
        self.send_rest(connection)
    }

    fn ready(
        &mut self,
        connection: &mut Connection,
        hangup: bool,
        answers: &mut Vec<Answer>,
    ) -> Result<Reading, End> {
        if !connection.connected {
            match sockopt::socket_error(&connection.socket) {
                Ok(Ok(())) => connection.connected = true,
                _ => return Err(End::Broken(Failure::Connect)),
            }
            if !hangup {
                return Ok(Reading::Drained);
            }
        }
        if connection.request.is_some() {
            self.send_rest(connection)?;
        }
        for _ in 0..READS {
            if self.receive(connection, hangup, answers)? == Reading::Drained {
                return Ok(Reading::Drained);
            }
        }
        Ok(Reading::More)
    }
}
