//! HTTP/3 (RFC 9114) over QUIC, whose packets, losses and keys are quinn's.

mod attempts;
mod connection;
mod control;
mod datagrams;
mod ending;
mod flow;
mod frame;
pub mod qpack;
pub mod request;
pub mod response;
mod script;
mod setup;
mod static_table;
mod streams;
mod ungreased;
mod valued;
pub mod varint;

use std::os::fd::BorrowedFd;
use std::time::Instant;

pub use self::attempts::Attempts;
use self::attempts::Dialer;
use self::connection::{Connection, Tools};
use self::datagrams::Buffers;
pub use self::request::Exchange;
use self::request::Request;
use self::script::Script;
pub use self::setup::{ALPN, Setup};
use crate::cache_header::CacheHeader;
use crate::crowd::turn::{Crowd, Sequences};
use crate::keys::Keys;
use crate::protocol::{End, Event, ExchangeId, Protocol, Reading, RequestId};

/// Calls in a row after which a connection yields to the others of its thread.
const READS: usize = 16;

/// HTTP/3 as one thread speaks it.
pub struct H3<'a> {
    dialer: Dialer<'a>,
    script: Script<'a>,
    /// The users, if requests are sent in sequences.
    crowd: Option<Crowd<'a>>,
    tools: Tools,
    buffers: Buffers,
}

impl<'a> H3<'a> {
    /// A thread's own state for the common `exchanges`, with at most `depth` streams on each
    /// connection.
    pub fn new(setup: &'a Setup, exchanges: &'a [Exchange], depth: usize, keys: Vec<Keys>) -> Self {
        H3 {
            dialer: Dialer::new(setup),
            script: Script {
                exchanges,
                steps: &[],
            },
            crowd: None,
            tools: Tools::new(depth, keys),
            buffers: Buffers::default(),
        }
    }

    /// A thread's own state for users that send the common `sequences`, `depth` of them on each
    /// connection.
    pub fn of_users(
        setup: &'a Setup,
        sequences: &'a Sequences<Request>,
        depth: usize,
        keys: Vec<Keys>,
    ) -> Self {
        let exchanges = &sequences.exchanges;
        let steps = &sequences.steps;
        H3 {
            crowd: Some(Crowd::new(sequences, keys.len())),
            script: Script { exchanges, steps },
            ..H3::new(setup, exchanges, depth, keys)
        }
    }

    /// The same, with answers that have a header about a cache.
    pub fn with_cache_header(mut self, cache: CacheHeader) -> Self {
        self.tools.cache = cache;
        self
    }
}

impl Protocol for H3<'_> {
    type Connection = Attempts;

    fn open(&mut self, target: usize) -> Result<Attempts, End> {
        self.dialer.connect(target)
    }

    fn unwatched<'c>(&mut self, connection: &'c mut Attempts) -> Option<BorrowedFd<'c>> {
        connection.unwatched()
    }

    fn room(&self, connection: &Attempts) -> usize {
        connection.newest.room(self.tools.depth)
    }

    fn awaited(&self, connection: &Attempts) -> &'static str {
        match connection.newest.is_connected() {
            true => "the server allows no stream",
            false => "no QUIC handshake in time",
        }
    }

    fn send(
        &mut self,
        connection: &mut Attempts,
        request: RequestId,
        exchange: ExchangeId,
    ) -> Result<(), End> {
        let (connection, tools) = (&mut connection.newest, &mut self.tools);
        let (depth, target) = (tools.depth, connection.target);
        let crowd = self.crowd.as_ref();
        let seat = crowd.map(|crowd| connection.seats.take(depth, crowd, target));
        // A user's next request, or else the one that was drawn.
        let own = seat.as_ref().map(|seat| seat.turn.next(exchange));
        let number = own.unwrap_or(exchange);
        connection.send(request, (number, seat), self.script, tools)
    }

    fn flush(&mut self, connection: &mut Attempts) -> Result<(), End> {
        let now = Instant::now();
        let mut transmit = |attempt: &mut Connection| attempt.transmit(now, &mut self.tools);
        // An attempt that fails gives way to another, which begins with a packet.
        while self.dialer.step(connection, &mut transmit)?.is_none() {}
        Ok(())
    }

    fn ready(
        &mut self,
        connection: &mut Attempts,
        _: bool,
        events: &mut Vec<Event>,
    ) -> Result<Reading, End> {
        let reading = self.dialer.step(connection, |attempt| {
            let mut reading = Reading::More;
            for _ in 0..READS {
                let now = Instant::now();
                if !attempt.receive(now, &mut self.buffers, &mut self.tools)? {
                    reading = Reading::Drained;
                    break;
                }
            }
            attempt.go_on(self.script, &mut self.tools, events)?;
            Ok(reading)
        });
        Ok(reading?.unwrap_or(Reading::Drained))
    }

    fn cancel(&mut self, connection: &mut Attempts, request: RequestId) -> bool {
        connection.newest.cancel(request);
        // Without other requests, no event would end it.
        !connection.newest.is_over()
    }

    fn timer(&mut self, connection: &mut Attempts) -> Option<Instant> {
        connection.timer()
    }

    fn expire(&mut self, connection: &mut Attempts, events: &mut Vec<Event>) -> Result<(), End> {
        let now = Instant::now();
        self.dialer.begin_due(connection, now);
        let expired = self.dialer.step(connection, |attempt| {
            attempt.expire(now);
            attempt.go_on(self.script, &mut self.tools, events)
        });
        expired.map(|_| ())
    }
}
