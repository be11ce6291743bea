//! HTTP/2 (RFC 9113), by prior knowledge or after ALPN: requests in concurrent streams.

mod answer;
pub mod call;
mod connection;
mod control;
pub mod frame;
mod head;
mod recv;
pub mod request;
mod settings;
mod streams;

pub use self::connection::Connection;
use self::frame::code;
use self::recv::Receiving;
pub use self::request::Exchange;
use crate::cache_header::CacheHeader;
use crate::dialogue::{Dialogue, ReadHint};
use crate::hpack::Scratch;
use crate::keys::Keys;
use crate::protocol::{End, Event, ExchangeId, Failure, RequestId};

/// HTTP/2 as one thread speaks it.
#[derive(Debug)]
pub struct H2<'a> {
    exchanges: &'a [Exchange],
    depth: usize,
    cache: CacheHeader,
    /// By target.
    keys: Vec<Keys>,
    scratch: Scratch,
    block: Vec<u8>,
    /// Streams whose answers began in the call under way.
    begun: Vec<u32>,
}

impl<'a> H2<'a> {
    /// A thread's own state for the common `exchanges`, with at most `depth` streams on each
    /// connection.
    pub fn new(exchanges: &'a [Exchange], depth: usize, keys: Vec<Keys>) -> Self {
        H2 {
            exchanges,
            depth,
            cache: CacheHeader::default(),
            keys,
            scratch: Scratch::default(),
            block: Vec::new(),
            begun: Vec::new(),
        }
    }

    /// The same, with answers that have a header about a cache.
    pub fn with_cache_header(self, cache: CacheHeader) -> Self {
        H2 { cache, ..self }
    }
}

impl Dialogue for H2<'_> {
    type Connection = Connection;

    fn begin(&mut self, target: usize, out: &mut Vec<u8>) -> Connection {
        settings::hello(out);
        let mut connection = Connection::new(target, self.cache.clone());
        let mut all = self.exchanges.iter();
        if all.any(|exchange| exchange.expect.keeper.is_some()) {
            connection.heads.keep_fields();
        }
        connection
    }

    fn room(&self, connection: &Connection) -> usize {
        connection.room(self.depth)
    }

    fn awaited(&self, _: &Connection) -> &'static str {
        "the server allows no stream"
    }

    fn send(
        &mut self,
        connection: &mut Connection,
        request: RequestId,
        exchange: ExchangeId,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        let Exchange {
            request: asked,
            expect,
            ..
        } = &self.exchanges[exchange as usize];
        let id = connection.next;
        connection.next += 2;
        let shrunk = connection.peer.shrinks();
        asked.write(
            id,
            shrunk,
            &mut self.keys[connection.target],
            &mut self.block,
            out,
        );
        let stream = connection.streams.open(id, (request, exchange), expect);
        let body = asked.body();
        if !body.is_empty() {
            stream.unsent = body.len();
            stream.window = i64::from(connection.peer.window);
            connection.waiting += 1;
            connection.send_body(id, body, out);
        }
        Ok(())
    }

    fn read_hint(&self, _: &Connection) -> ReadHint {
        ReadHint::Recv(usize::MAX)
    }

    fn recv(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        self.begun.clear();
        let mut receiving = Receiving {
            exchanges: self.exchanges,
            scratch: &mut self.scratch,
            begun: &mut self.begun,
            connection,
            out,
            events,
        };
        let outcome = receiving.recv(bytes);
        for id in &self.begun {
            if let Some(stream) = connection.streams.get(*id) {
                events.push(Event::Begun(stream.request));
            }
        }
        outcome.map_err(|why| End::Broken(Failure::read(why)))?;
        connection.end().map_or(Ok(()), Err)
    }

    fn taken(&mut self, connection: &mut Connection) {
        connection.owed.taken();
    }

    fn recv_end(&mut self, connection: &mut Connection, _: &mut Vec<Event>) -> End {
        let lost = !connection.streams.is_empty();
        match connection.goaway {
            Some(code) if code != code::NO_ERROR => {
                End::Broken(Failure::read(connection::farewell(code)))
            }
            _ if lost => End::Broken(Failure::read("closed before the answer was whole")),
            _ if !connection.is_between_frames() => {
                End::Broken(Failure::read("closed in the middle of a frame"))
            }
            _ => End::Proper,
        }
    }

    fn cancel(
        &mut self,
        connection: &mut Connection,
        request: RequestId,
        out: &mut Vec<u8>,
    ) -> bool {
        let found = connection
            .streams
            .iter_mut()
            .find(|stream| stream.request == request);
        let Some(id) = found.map(|stream| stream.id) else {
            return true;
        };
        connection.give_up(id, code::CANCEL, out);
        // Without other streams, no further call would report that the connection is of no more use.
        connection.end().is_none()
    }
}
