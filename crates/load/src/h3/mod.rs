//! HTTP/3 (RFC 9114) over QUIC, whose packets, losses and keys are quinn's.

mod connection;
mod control;
mod datagrams;
mod ending;
mod flow;
pub mod qpack;
pub mod request;
pub mod response;
mod setup;
mod static_table;
mod streams;
mod ungreased;
pub mod varint;

use std::time::Instant;

pub use self::connection::Connection;
use self::connection::Tools;
use self::datagrams::{Buffers, Socket};
use self::ending::unreachable;
pub use self::request::Exchange;
pub use self::setup::{ALPN, Setup};
use crate::cache_header::CacheHeader;
use crate::keys::Keys;
use crate::protocol::{End, Event, ExchangeId, Failure, Protocol, Reading, RequestId};
use crate::stream::addresses::Addresses;

/// Calls in a row after which a connection yields to the others of its thread.
const READS: usize = 16;

/// HTTP/3 as one thread speaks it.
pub struct H3<'a> {
    setup: &'a Setup,
    exchanges: &'a [Exchange],
    client: quinn_proto::ClientConfig,
    tools: Tools,
    buffers: Buffers,
    addresses: Addresses,
    opened: usize,
}

impl<'a> H3<'a> {
    /// A thread's own state for the common `exchanges`, with at most `depth` streams on each
    /// connection. Answers may have a header about a cache.
    pub fn new(
        setup: &'a Setup,
        exchanges: &'a [Exchange],
        depth: usize,
        keys: Vec<Keys>,
        cache: CacheHeader,
    ) -> Self {
        H3 {
            setup,
            exchanges,
            client: setup.client(),
            tools: Tools::new(depth, keys, cache),
            buffers: Buffers::default(),
            addresses: Addresses::new(setup.servers.iter().map(|(_, all)| all.len())),
            opened: 0,
        }
    }
}

impl Protocol for H3<'_> {
    type Connection = Connection;

    fn open(&mut self, target: usize) -> Result<Connection, End> {
        let (endpoint, servers) = &self.setup.servers[target];
        let (address, socket) = loop {
            let address = self.addresses.next(target);
            let socket = Socket::new(endpoint, servers[address], self.opened);
            self.opened += 1;
            match socket {
                Ok(socket) => break (address, socket),
                Err(_) if self.addresses.failed(target, address) => {}
                Err(error) => return Err(End::Broken(Failure::connect(unreachable(&error)))),
            }
        };
        let client = self.client.clone();
        Connection::new(self.setup, (target, address), client, socket).map_err(End::Broken)
    }

    fn goes_elsewhere(&mut self, connection: &Connection) -> bool {
        let (target, address) = (connection.target, connection.address);
        !connection.is_connected() && self.addresses.failed(target, address)
    }

    fn room(&self, connection: &Connection) -> usize {
        connection.room(self.tools.depth)
    }

    fn awaited(&self, connection: &Connection) -> &'static str {
        match connection.is_connected() {
            true => "the server allows no stream",
            false => "no QUIC handshake in time",
        }
    }

    fn send(
        &mut self,
        connection: &mut Connection,
        request: RequestId,
        exchange: ExchangeId,
    ) -> Result<(), End> {
        let found = &self.exchanges[exchange as usize];
        connection.send(request, (exchange, found), &mut self.tools)
    }

    fn flush(&mut self, connection: &mut Connection) -> Result<(), End> {
        connection.transmit(Instant::now(), &mut self.tools)
    }

    fn ready(
        &mut self,
        connection: &mut Connection,
        _: bool,
        events: &mut Vec<Event>,
    ) -> Result<Reading, End> {
        let mut reading = Reading::More;
        for _ in 0..READS {
            let now = Instant::now();
            if !connection.receive(now, &mut self.buffers, &mut self.tools)? {
                reading = Reading::Drained;
                break;
            }
        }
        connection.go_on(self.exchanges, &mut self.tools, events)?;
        Ok(reading)
    }

    fn cancel(&mut self, connection: &mut Connection, request: RequestId) -> bool {
        connection.cancel(request);
        // Without other requests, no event would end it.
        !connection.is_over()
    }

    fn timer(&mut self, connection: &mut Connection) -> Option<Instant> {
        connection.timer()
    }

    fn expire(&mut self, connection: &mut Connection, events: &mut Vec<Event>) -> Result<(), End> {
        connection.expire(Instant::now());
        connection.go_on(self.exchanges, &mut self.tools, events)
    }
}
