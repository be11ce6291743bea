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
use crate::dialogue::{Appetite, Dialogue};
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
pub struct Talk {
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
        talk: &mut Talk,
        end: usize,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        // Bytes after the last response's end make it untrue.
        if end < length && talk.asked.len() == 1 {
            return Err(UNASKED);
        }
        let keep_alive = talk.response.keep_alive();
        self.answer(talk, events);
        talk.closing = !keep_alive;
        if keep_alive { Ok(()) } else { Err(End::Proper) }
    }

    fn answer(&self, talk: &mut Talk, events: &mut Vec<Event>) {
        let Some(request) = talk.asked.pop_front() else {
            return;
        };
        let response = &mut talk.response;
        let status = response.status();
        let expect = &self.exchanges[talk.target].expect;
        events.push(Event::Answered(Answer {
            request,
            status,
            bytes: response.bytes(),
            failure: expect.judge(status, response.witness()),
        }));
        response.reset();
    }
}

impl Dialogue for H1<'_> {
    type Talk = Talk;

    fn begin(&mut self, target: usize, _: &mut Vec<u8>) -> Talk {
        Talk {
            target,
            asked: VecDeque::new(),
            response: Response::new(&self.exchanges[target].expect),
            closing: false,
        }
    }

    fn room(&self, talk: &Talk) -> usize {
        if talk.closing {
            return 0;
        }
        self.depth - talk.asked.len()
    }

    fn ask(&mut self, talk: &mut Talk, request: RequestId, out: &mut Vec<u8>) -> Result<(), End> {
        talk.asked.push_back(request);
        self.exchanges[talk.target]
            .request
            .write(&mut self.keys[talk.target], out);
        Ok(())
    }

    fn appetite(&self, talk: &Talk) -> Appetite {
        match talk.response.unseen() {
            // The byte more than the rest shows a body that is too long.
            Some(rest) if talk.asked.len() == 1 => Appetite::Discard(rest.saturating_add(1)),
            Some(rest) => Appetite::Discard(rest),
            None if self.depth == 1 && talk.response.bytes() == 0 => Appetite::Hear(FIRST),
            None => Appetite::Hear(usize::MAX),
        }
    }

    fn hear(
        &mut self,
        talk: &mut Talk,
        bytes: &[u8],
        _: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let request = *talk.asked.front().ok_or(UNASKED)?;
            let fresh = talk.response.bytes() == 0;
            match talk.response.feed(rest, &mut self.heads) {
                Ok(Some(end)) => {
                    self.whole(talk, end, rest.len(), events)?;
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
        talk: &mut Talk,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        match talk.response.skip(length) {
            Ok(None) => Ok(()),
            Ok(Some(end)) => self.whole(talk, end, length, events),
            Err(Malformed(why)) => Err(End::Broken(Failure::read(why))),
        }
    }

    fn hear_end(&mut self, talk: &mut Talk, events: &mut Vec<Event>) -> End {
        if !talk.asked.is_empty() && talk.response.ends_by_close() {
            self.answer(talk, events);
        }
        if talk.asked.is_empty() {
            End::Proper
        } else {
            End::Broken(Failure::read("closed before the answer was whole"))
        }
    }
}
