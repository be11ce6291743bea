//! One connection: its socket, QUIC's packets and timers, and the room for requests.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quinn_proto::{ClientConfig, ConnectionHandle, DatagramEvent, Dir, Endpoint, StreamId, VarInt};

use super::control::{self, ServerStream};
use super::datagrams::{Buffers, Socket};
use super::ending::{ending, unreachable};
use super::flow::Flow;
use super::request::Buffers as Sections;
use super::response::Response;
use super::script::Script;
use super::setup::Setup;
use crate::cache_header::CacheHeader;
use crate::crowd::seats::{Seat, Seats};
use crate::keys::Keys;
use crate::protocol::{End, Event, ExchangeId, Failure, RequestId};

/// Errors of HTTP/3 (RFC 9114, section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);
const GENERAL_PROTOCOL_ERROR: VarInt = VarInt::from_u32(0x101);

/// The state that all connections of a thread share.
pub struct Tools {
    /// Most requests in flight on one connection.
    pub depth: usize,
    /// The header about a cache that answers may have.
    pub cache: CacheHeader,
    /// By target.
    keys: Vec<Keys>,
    sections: Sections,
    frames: Vec<u8>,
    datagrams: Vec<u8>,
}

impl Tools {
    /// The tools of one thread.
    pub fn new(depth: usize, keys: Vec<Keys>) -> Self {
        Tools {
            depth,
            cache: CacheHeader::default(),
            keys,
            sections: Sections::default(),
            frames: Vec::new(),
            datagrams: Vec::new(),
        }
    }
}

/// One connection.
pub struct Connection {
    /// The target's number.
    pub target: usize,
    /// The number of the server's address that it goes to.
    pub address: usize,
    socket: Socket,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    pub(super) quic: quinn_proto::Connection,
    connected: bool,
    /// Streams that are opened and not used yet.
    spare: VecDeque<StreamId>,
    pub(super) flows: Vec<Flow>,
    /// The users, if requests are sent in sequences.
    pub(super) seats: Seats,
    pub(super) server_streams: Vec<ServerStream>,
    /// Streams from this number on are not answered.
    pub(super) goaway: Option<u64>,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Connection {
    /// Start to connect to a target, at the address of this number.
    ///
    /// # Errors
    /// When QUIC refuses the address or the name.
    pub fn new(
        setup: &Setup,
        (target, address): (usize, usize),
        client: ClientConfig,
        socket: Socket,
    ) -> Result<Self, Failure> {
        let mut endpoint = Endpoint::new(setup.endpoint.clone(), None, true, None);
        let server = setup.servers[target].1[address];
        let (handle, quic) = endpoint
            .connect(Instant::now(), client, server, &setup.names[target])
            .map_err(|_| Failure::connect("QUIC refuses the server's address or name"))?;
        Ok(Connection {
            target,
            address,
            socket,
            endpoint,
            handle,
            quic,
            connected: false,
            spare: VecDeque::new(),
            flows: Vec::new(),
            seats: Seats::default(),
            server_streams: Vec::new(),
            goaway: None,
        })
    }

    /// Return true once its handshake is done.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// The number of further requests that it takes now.
    pub fn room(&self, depth: usize) -> usize {
        if self.goaway.is_some() {
            return 0;
        }
        self.spare.len().min(depth.saturating_sub(self.flows.len()))
    }

    /// Take a request for an exchange of this number, which may be that of the user on a `seat`.
    ///
    /// # Errors
    /// When no stream takes it.
    pub fn send(
        &mut self,
        request: RequestId,
        (number, mut seat): (ExchangeId, Option<Box<Seat>>),
        script: Script<'_>,
        tools: &mut Tools,
    ) -> Result<(), End> {
        let refused = End::Broken(Failure::write("no stream takes the request"));
        let stream = self.spare.pop_front().ok_or(refused)?;
        tools.frames.clear();
        let exchange = &script.exchanges[number as usize];
        let (keys, sections) = (&mut tools.keys[self.target], &mut tools.sections);
        let sender = seat.as_deref_mut();
        exchange
            .request
            .write(sender, keys, sections, &mut tools.frames);
        if let Some(seat) = &mut seat {
            seat.turn.sent(&script.steps[number as usize]);
        }
        self.flows.push(Flow {
            stream,
            request,
            exchange: number,
            response: Response::new(&exchange.expect, exchange.bodiless)
                .with_cache_header(tools.cache.clone()),
            begun: false,
            unsent: Vec::new(),
            seat,
        });
        let index = self.flows.len() - 1;
        let written = self.write(stream, &tools.frames);
        self.flows[index]
            .unsent
            .extend_from_slice(&tools.frames[written..]);
        Ok(())
    }

    /// Send the packets that are due.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn transmit(&mut self, now: Instant, tools: &mut Tools) -> Result<(), End> {
        let lost = |connected: bool, error: &std::io::Error| {
            let why = unreachable(error);
            End::Broken(match connected {
                true => Failure::write(why),
                false => Failure::connect(why),
            })
        };
        let connected = self.connected;
        let mut free = self
            .socket
            .resend()
            .map_err(|error| lost(connected, &error))?;
        while free {
            tools.datagrams.clear();
            let batch = self.socket.batch();
            let Some(transmit) = self.quic.poll_transmit(now, batch, &mut tools.datagrams) else {
                break;
            };
            let sent = self.socket.send(transmit, &tools.datagrams);
            free = sent.map_err(|error| lost(connected, &error))?;
        }
        Ok(())
    }

    /// Receive once; return false if there was nothing.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn receive(
        &mut self,
        now: Instant,
        buffers: &mut Buffers,
        tools: &mut Tools,
    ) -> Result<bool, End> {
        let (endpoint, quic) = (&mut self.endpoint, &mut self.quic);
        let received = self.socket.receive(buffers, |meta, datagram| {
            tools.datagrams.clear();
            let ecn = meta
                .ecn
                .and_then(|ecn| quinn_proto::EcnCodepoint::from_bits(ecn as u8));
            let bytes = BytesMut::from(datagram);
            let answer = &mut tools.datagrams;
            let event = endpoint.handle(now, meta.addr, meta.dst_ip, ecn, bytes, answer);
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                quic.handle_event(event);
            }
        });
        received.map_err(|error| {
            let why = unreachable(&error);
            End::Broken(match self.connected {
                true => Failure::read(why),
                false => Failure::connect(why),
            })
        })
    }

    /// The time at which [`Connection::expire`] is due.
    pub fn timer(&mut self) -> Option<Instant> {
        self.quic.poll_timeout()
    }

    /// Handle the timer, which is due.
    pub fn expire(&mut self, now: Instant) {
        self.quic.handle_timeout(now);
    }

    /// Give a request up.
    pub fn cancel(&mut self, request: RequestId) {
        let found = self.flows.iter().position(|flow| flow.request == request);
        if let Some(index) = found {
            self.give_up(index);
        }
    }

    /// Process the events of QUIC since the last call.
    ///
    /// # Errors
    /// The connection's end.
    pub fn go_on(
        &mut self,
        script: Script<'_>,
        tools: &mut Tools,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        while let Some(event) = self.quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.quic.handle_event(event);
            }
        }
        while let Some(event) = self.quic.poll() {
            match event {
                quinn_proto::Event::Connected => {
                    self.connected = true;
                    events.push(Event::Connected);
                    self.greet(tools);
                }
                quinn_proto::Event::ConnectionLost { reason } => {
                    return Err(ending(&reason, self.connected, self.flows.is_empty()));
                }
                quinn_proto::Event::Stream(event) => self.on_stream(event, script, events)?,
                _ => {}
            }
        }
        while self.connected && self.spare.len() + self.flows.len() < tools.depth {
            match self.quic.streams().open(Dir::Bi) {
                Some(stream) => self.spare.push_back(stream),
                None => break,
            }
        }
        match self.is_over() {
            true => Err(End::Proper),
            false => Ok(()),
        }
    }

    /// Return true if it takes no more requests, and none is in flight.
    pub fn is_over(&self) -> bool {
        self.goaway.is_some() && self.flows.is_empty()
    }

    /// Open this side's control stream.
    fn greet(&mut self, tools: &mut Tools) {
        if let Some(stream) = self.quic.streams().open(Dir::Uni) {
            tools.frames.clear();
            control::hello(&mut tools.frames);
            // A fresh connection's window holds three bytes.
            let _ = self.quic.send_stream(stream).write(&tools.frames);
        }
    }

    /// Close the connection because the server broke a rule.
    pub(super) fn violated(&mut self, why: &'static str) -> End {
        let reason = Bytes::from_static(why.as_bytes());
        self.quic
            .close(Instant::now(), GENERAL_PROTOCOL_ERROR, reason);
        End::Broken(Failure::read(why))
    }
}

impl Drop for Connection {
    /// Close the connection, so that the server need not wait for its timeout.
    fn drop(&mut self) {
        let now = Instant::now();
        if !self.quic.is_closed() {
            self.quic.close(now, NO_ERROR, Bytes::new());
        }
        let mut datagrams = Vec::new();
        while let Some(transmit) = self.quic.poll_transmit(now, 1, &mut datagrams) {
            // No later call could try again.
            if !matches!(self.socket.send(transmit, &datagrams), Ok(true)) {
                break;
            }
            datagrams.clear();
        }
    }
}
