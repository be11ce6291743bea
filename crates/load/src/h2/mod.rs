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
mod valued;

pub use self::connection::Connection;
use self::frame::code;
use self::recv::Receiving;
pub use self::request::Exchange;
use self::request::Request;
use self::valued::Buffers;
use crate::cache_header::CacheHeader;
use crate::crowd::seats::Seat;
use crate::crowd::turn::{Crowd, Sequences, Step};
use crate::dialogue::{Dialogue, ReadHint};
use crate::hpack::Scratch;
use crate::keys::Keys;
use crate::protocol::{End, Event, ExchangeId, Failure, RequestId};

/// HTTP/2 as one thread speaks it.
#[derive(Debug)]
pub struct H2<'a> {
    exchanges: &'a [Exchange],
    /// The users, if requests are sent in sequences.
    crowd: Option<Crowd<'a>>,
    depth: usize,
    cache: CacheHeader,
    /// By target.
    keys: Vec<Keys>,
    scratch: Scratch,
    buffers: Buffers,
    /// Streams whose answers began in the call under way.
    begun: Vec<u32>,
    /// True if the fields of answers are kept, or values are taken from them.
    keeps_fields: bool,
}

impl<'a> H2<'a> {
    /// A thread's own state for the common `exchanges`, with at most `depth` streams on each
    /// connection.
    pub fn new(exchanges: &'a [Exchange], depth: usize, keys: Vec<Keys>) -> Self {
        let kept = |each: &Exchange| each.expect.keeper.is_some() || each.expect.wants.head;
        H2 {
            keeps_fields: exchanges.iter().any(kept),
            exchanges,
            crowd: None,
            depth,
            cache: CacheHeader::default(),
            keys,
            scratch: Scratch::default(),
            buffers: Buffers::default(),
            begun: Vec::new(),
        }
    }

    /// A thread's own state for users that send the common `sequences`, `depth` of them on each
    /// connection.
    pub fn of_users(sequences: &'a Sequences<Request>, depth: usize, keys: Vec<Keys>) -> Self {
        let crowd = Crowd::new(sequences, keys.len());
        H2 {
            crowd: Some(crowd),
            ..H2::new(&sequences.exchanges, depth, keys)
        }
    }

    /// The same, with answers that have a header about a cache.
    pub fn with_cache_header(self, cache: CacheHeader) -> Self {
        H2 { cache, ..self }
    }

    /// The steps of the users; none without them.
    fn steps(&self) -> &'a [Step] {
        self.crowd.as_ref().map_or(&[][..], Crowd::steps)
    }
}

impl Dialogue for H2<'_> {
    type Connection = Connection;

    fn begin(&mut self, target: usize, out: &mut Vec<u8>) -> Connection {
        settings::hello(out);
        let mut connection = Connection::new(target, self.cache.clone());
        if self.keeps_fields {
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
        let target = connection.target;
        let crowd = self.crowd.as_ref();
        let mut seat = crowd.map(|crowd| connection.seats.take(self.depth, crowd, target));
        // A user's next request, or else the one that was drawn.
        let own = seat.as_ref().map(|seat| seat.turn.next(exchange));
        let exchange = own.unwrap_or(exchange);
        let Exchange {
            request: asked,
            expect,
            ..
        } = &self.exchanges[exchange as usize];
        let id = connection.next;
        connection.next += 2;
        let shrunk = connection.peer.shrinks();
        let steps = self.steps();
        let (keys, buffers) = (&mut self.keys[target], &mut self.buffers);
        let length = match (asked, seat.as_deref_mut()) {
            (Request::Plain(plain), _) => {
                plain.write(id, shrunk, keys, &mut buffers.block, out);
                asked.body().len()
            }
            (Request::Valued(valued), Some(Seat { turn, body })) => {
                valued.write((id, shrunk), (turn.user(), &mut *body), keys, buffers, out);
                turn.sent(&steps[exchange as usize]);
                body.len()
            }
            (Request::Valued(_), None) => unreachable!("users alone have values"),
        };
        let stream = connection.streams.open(id, (request, exchange), expect);
        stream.seat = seat;
        if length > 0 {
            stream.unsent = length;
            stream.window = i64::from(connection.peer.window);
            connection.waiting += 1;
            connection.send_body(id, asked.body(), out);
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
        let steps = self.steps();
        let mut receiving = Receiving {
            exchanges: self.exchanges,
            steps,
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
