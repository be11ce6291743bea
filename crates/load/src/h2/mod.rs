//! HTTP/2 (RFC 9113), by prior knowledge or after ALPN: requests in concurrent streams.

mod answer;
mod control;
pub mod frame;
mod head;
mod hear;
pub mod request;
mod settings;
mod streams;
mod talk;

use self::frame::code;
use self::hear::Hearing;
pub use self::request::Exchange;
pub use self::talk::Talk;
use crate::dialogue::{Appetite, Dialogue};
use crate::hpack::Scratch;
use crate::keys::Keys;
use crate::protocol::{End, Event, Failure, RequestId};

/// HTTP/2 as one thread speaks it.
#[derive(Debug)]
pub struct H2<'a> {
    exchanges: &'a [Exchange],
    /// Whether the requests are HEAD requests, whose answers have no body.
    bodiless: bool,
    depth: usize,
    /// By target.
    keys: Vec<Keys>,
    scratch: Scratch,
    block: Vec<u8>,
    /// Streams whose answers began in the call under way.
    begun: Vec<u32>,
}

impl<'a> H2<'a> {
    /// A thread's own state for the common `exchanges`, with at most `depth` streams on each
    /// connection. All requests have the same `method`.
    pub fn new(
        method: &http::Method,
        exchanges: &'a [Exchange],
        depth: usize,
        keys: Vec<Keys>,
    ) -> Self {
        H2 {
            exchanges,
            bodiless: method == http::Method::HEAD,
            depth,
            keys,
            scratch: Scratch::default(),
            block: Vec::new(),
            begun: Vec::new(),
        }
    }
}

impl Dialogue for H2<'_> {
    type Talk = Talk;

    fn begin(&mut self, target: usize, out: &mut Vec<u8>) -> Talk {
        settings::hello(out);
        Talk::new(target)
    }

    fn room(&self, talk: &Talk) -> usize {
        talk.room(self.depth)
    }

    fn ask(&mut self, talk: &mut Talk, request: RequestId, out: &mut Vec<u8>) -> Result<(), End> {
        let Exchange {
            request: asked,
            expect,
        } = &self.exchanges[talk.target];
        let id = talk.next;
        talk.next += 2;
        let shrunk = talk.peer.shrinks();
        asked.write(
            id,
            shrunk,
            &mut self.keys[talk.target],
            &mut self.block,
            out,
        );
        let stream = talk.streams.open(id, request, expect);
        let body = asked.body();
        if !body.is_empty() {
            stream.unsent = body.len();
            stream.window = i64::from(talk.peer.window);
            talk.waiting += 1;
            talk.send_body(id, body, out);
        }
        Ok(())
    }

    fn appetite(&self, _: &Talk) -> Appetite {
        Appetite::Hear(usize::MAX)
    }

    fn hear(
        &mut self,
        talk: &mut Talk,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        self.begun.clear();
        let mut hearing = Hearing {
            exchange: &self.exchanges[talk.target],
            bodiless: self.bodiless,
            scratch: &mut self.scratch,
            begun: &mut self.begun,
            talk,
            out,
            events,
        };
        hearing
            .hear(bytes)
            .map_err(|why| End::Broken(Failure::read(why)))?;
        for id in &self.begun {
            if let Some(stream) = talk.streams.get(*id) {
                events.push(Event::Begun(stream.request));
            }
        }
        talk.end().map_or(Ok(()), Err)
    }

    fn hear_end(&mut self, talk: &mut Talk, _: &mut Vec<Event>) -> End {
        let lost = !talk.streams.is_empty();
        match talk.goaway {
            Some(code) if code != code::NO_ERROR => {
                End::Broken(Failure::read(talk::farewell(code)))
            }
            _ if lost => End::Broken(Failure::read("closed before the answer was whole")),
            _ if !talk.is_between_frames() => {
                End::Broken(Failure::read("closed in the middle of a frame"))
            }
            _ => End::Proper,
        }
    }

    fn cancel(&mut self, talk: &mut Talk, request: RequestId, out: &mut Vec<u8>) -> bool {
        let found = talk
            .streams
            .iter_mut()
            .find(|stream| stream.request == request);
        let Some(id) = found.map(|stream| stream.id) else {
            return true;
        };
        talk.give_up(id, code::CANCEL, out);
        // Nobody would hear that the connection is of no more use.
        talk.end().is_none()
    }
}
