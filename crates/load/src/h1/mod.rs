//! HTTP/1.1 (RFC 9112): requests on kept-alive connections, pipelined if asked for.

pub mod chunked;
pub mod head;
mod malformed;
pub mod request;
pub mod response;

use std::collections::VecDeque;

use self::head::HeadReader;
pub use self::malformed::Malformed;
pub use self::request::Exchange;
use self::response::Response;
use crate::dialogue::{Dialogue, ReadHint};
use crate::keys::Keys;
use crate::protocol::{Answer, End, Event, Failure, RequestId};

/// Bytes that a response's first call receives: a head and a small body. The rest of a larger one
/// is discarded in the kernel, which spares a tenth of the CPU time at 20 KB.
const FIRST: usize = 4 * 1024;

const UNASKED: End = End::Broken(Failure::read("bytes that no request asked for"));

/// HTTP/1.1 as one thread speaks it.
#[derive(Debug)]
pub struct H1<'a> {
    exchanges: &'a [Exchange],
    depth: usize,
    heads: HeadReader,
    /// By target.
    keys: Vec<Keys>,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    target: usize,
    asked: VecDeque<RequestId>,
    response: Response,
    /// Whether the server will close.
    closing: bool,
}

impl<'a> H1<'a> {
    /// A thread's own state for the common `exchanges`, with at most `depth` requests in flight on
    /// each connection. All requests have the same `method`.
    pub fn new(
        method: &http::Method,
        exchanges: &'a [Exchange],
        depth: usize,
        keys: Vec<Keys>,
    ) -> Self {
        H1 {
            exchanges,
            depth,
            heads: HeadReader::new(method),
            keys,
        }
    }

    /// Goes on after the response's `end` within `length` bytes.
    fn whole(
        &self,
        connection: &mut Connection,
        end: usize,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        // Bytes after the last response's end make it untrue.
        if end < length && connection.asked.len() == 1 {
            return Err(UNASKED);
        }
        let keep_alive = connection.response.keep_alive();
        self.answer(connection, events);
        connection.closing = !keep_alive;
        if keep_alive { Ok(()) } else { Err(End::Proper) }
    }

    fn answer(&self, connection: &mut Connection, events: &mut Vec<Event>) {
        let Some(request) = connection.asked.pop_front() else {
            return;
        };
        let response = &mut connection.response;
        let status = response.status();
        let expect = &self.exchanges[connection.target].expect;
        events.push(Event::Answered(Answer {
            request,
            status,
            bytes: response.bytes(),
            failure: expect.judge(status, response.body_check()),
        }));
        response.reset();
    }
}

impl Dialogue for H1<'_> {
    type Connection = Connection;

    fn begin(&mut self, target: usize, _: &mut Vec<u8>) -> Connection {
        Connection {
            target,
            asked: VecDeque::new(),
            response: Response::new(&self.exchanges[target].expect),
            closing: false,
        }
    }

    fn room(&self, connection: &Connection) -> usize {
        if connection.closing {
            return 0;
        }
        self.depth - connection.asked.len()
    }

    fn send(
        &mut self,
        connection: &mut Connection,
        request: RequestId,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        connection.asked.push_back(request);
        self.exchanges[connection.target]
            .request
            .write(&mut self.keys[connection.target], out);
        Ok(())
    }

    fn read_hint(&self, connection: &Connection) -> ReadHint {
        match connection.response.unseen() {
            // The byte more than the rest shows a body that is too long.
            Some(rest) if connection.asked.len() == 1 => ReadHint::Discard(rest.saturating_add(1)),
            Some(rest) => ReadHint::Discard(rest),
            None if self.depth == 1 && connection.response.bytes() == 0 => ReadHint::Recv(FIRST),
            None => ReadHint::Recv(usize::MAX),
        }
    }

    fn recv(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
        _: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let request = *connection.asked.front().ok_or(UNASKED)?;
            let fresh = connection.response.bytes() == 0;
            match connection.response.feed(rest, &mut self.heads) {
                Ok(Some(end)) => {
                    self.whole(connection, end, rest.len(), events)?;
                    rest = &rest[end..];
                }
                Ok(None) => {
                    if fresh {
                        events.push(Event::Begun(request));
                    }
                    break;
                }
                Err(Malformed(why)) => return Err(End::Broken(Failure::read(why))),
            }
        }
        Ok(())
    }

    fn discard(
        &mut self,
        connection: &mut Connection,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        match connection.response.skip(length) {
            Ok(None) => Ok(()),
            Ok(Some(end)) => self.whole(connection, end, length, events),
            Err(Malformed(why)) => Err(End::Broken(Failure::read(why))),
        }
    }

    fn recv_end(&mut self, connection: &mut Connection, events: &mut Vec<Event>) -> End {
        if !connection.asked.is_empty() && connection.response.ends_by_close() {
            self.answer(connection, events);
        }
        if connection.asked.is_empty() {
            End::Proper
        } else {
            End::Broken(Failure::read("closed before the answer was whole"))
        }
    }
}
