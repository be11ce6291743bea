//! One connection, and the requests in flight on it.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint, ReadError,
    StreamEvent, StreamId, VarInt, WriteError,
};

use super::control::{self, Said, ServerStream};
use super::datagrams::{Buffers, Socket};
use super::response::{Response, Wrong};
use super::{Exchange, Setup, unreachable};
use crate::keys::Keys;
use crate::protocol::{Answer, End, Event, Failure, RequestId};

/// Errors of HTTP/3 (RFC 9114, section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);
const GENERAL_PROTOCOL_ERROR: VarInt = VarInt::from_u32(0x101);
const REQUEST_REJECTED: u64 = 0x10b;
const REQUEST_CANCELLED: VarInt = VarInt::from_u32(0x10c);

/// What all connections of a thread share.
pub struct Tools {
    bodiless: bool,
    /// Most requests in flight on one connection.
    pub depth: usize,
    keys: Keys,
    section: Vec<u8>,
    frames: Vec<u8>,
    datagrams: Vec<u8>,
}

impl Tools {
    /// For requests without answered bodies if `bodiless`.
    pub fn new(bodiless: bool, depth: usize, keys: Keys) -> Self {
        Tools {
            bodiless,
            depth,
            keys,
            section: Vec::new(),
            frames: Vec::new(),
            datagrams: Vec::new(),
        }
    }
}

/// One request in flight.
struct Flow {
    stream: StreamId,
    request: RequestId,
    response: Response,
    begun: bool,
    /// What the stream has not taken of the request.
    unsent: Vec<u8>,
}

/// One connection.
pub struct Connection {
    /// The target's number.
    pub target: usize,
    socket: Socket,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    quic: quinn_proto::Connection,
    connected: bool,
    /// Streams that were opened and carry nothing yet.
    spare: VecDeque<StreamId>,
    flows: Vec<Flow>,
    server_streams: Vec<ServerStream>,
    /// Streams from this number on are not answered.
    goaway: Option<u64>,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Connection {
    /// Starts to connect to a target.
    ///
    /// # Errors
    /// When QUIC refuses the address or the name.
    pub fn new(
        setup: &Setup,
        target: usize,
        client: ClientConfig,
        socket: Socket,
    ) -> Result<Self, Failure> {
        let mut endpoint = Endpoint::new(setup.endpoint.clone(), None, true, None);
        let (_, server) = setup.servers[target];
        let (handle, quic) = endpoint
            .connect(Instant::now(), client, server, &setup.names[target])
            .map_err(|_| Failure::connect("QUIC refuses the server's address or name"))?;
        Ok(Connection {
            target,
            socket,
            endpoint,
            handle,
            quic,
            connected: false,
            spare: VecDeque::new(),
            flows: Vec::new(),
            server_streams: Vec::new(),
            goaway: None,
        })
    }

    /// How many more requests it takes now.
    pub fn room(&self, depth: usize) -> usize {
        if self.goaway.is_some() {
            return 0;
        }
        self.spare.len().min(depth.saturating_sub(self.flows.len()))
    }

    /// Takes a request.
    ///
    /// # Errors
    /// When no stream takes it.
    pub fn ask(
        &mut self,
        request: RequestId,
        exchange: &Exchange,
        tools: &mut Tools,
    ) -> Result<(), End> {
        let refused = End::Broken(Failure::write("no stream takes the request"));
        let stream = self.spare.pop_front().ok_or(refused)?;
        tools.frames.clear();
        exchange
            .request
            .write(&mut tools.keys, &mut tools.section, &mut tools.frames);
        self.flows.push(Flow {
            stream,
            request,
            response: Response::new(&exchange.expect, tools.bodiless),
            begun: false,
            unsent: Vec::new(),
        });
        let index = self.flows.len() - 1;
        let written = self.write(stream, &tools.frames);
        self.flows[index]
            .unsent
            .extend_from_slice(&tools.frames[written..]);
        Ok(())
    }

    /// Sends what is to be sent.
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

    /// Receives once; false when there was nothing.
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

    /// When [`Connection::expire`] is due.
    pub fn timer(&mut self) -> Option<Instant> {
        self.quic.poll_timeout()
    }

    /// The timer is due.
    pub fn expire(&mut self, now: Instant) {
        self.quic.handle_timeout(now);
    }

    /// Gives a request up.
    pub fn cancel(&mut self, request: RequestId) {
        let found = self.flows.iter().position(|flow| flow.request == request);
        if let Some(index) = found {
            self.give_up(index);
        }
    }

    /// Takes account of what has happened.
    ///
    /// # Errors
    /// The connection's end.
    pub fn go_on(
        &mut self,
        exchange: &Exchange,
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
                quinn_proto::Event::Stream(event) => self.on_stream(event, exchange, events)?,
                _ => {}
            }
        }
        while self.connected && self.spare.len() + self.flows.len() < tools.depth {
            match self.quic.streams().open(Dir::Bi) {
                Some(stream) => self.spare.push_back(stream),
                None => break,
            }
        }
        match self.goaway {
            Some(_) if self.flows.is_empty() => Err(End::Proper),
            _ => Ok(()),
        }
    }

    /// Opens this side's control stream.
    fn greet(&mut self, tools: &mut Tools) {
        if let Some(stream) = self.quic.streams().open(Dir::Uni) {
            tools.frames.clear();
            control::hello(&mut tools.frames);
            // A fresh connection's window holds three bytes.
            let _ = self.quic.send_stream(stream).write(&tools.frames);
        }
    }

    fn on_stream(
        &mut self,
        event: StreamEvent,
        exchange: &Exchange,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        match event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(stream) = self.quic.streams().accept(Dir::Uni) {
                    self.server_streams.push(ServerStream::new(stream));
                    self.read_server(stream, events)?;
                }
                Ok(())
            }
            StreamEvent::Readable { id } if id.dir() == Dir::Uni => self.read_server(id, events),
            StreamEvent::Readable { id } => self.read(id, exchange, events),
            StreamEvent::Writable { id } => {
                if let Some(index) = self.flow(id) {
                    let unsent = std::mem::take(&mut self.flows[index].unsent);
                    let written = self.write(id, &unsent);
                    self.flows[index]
                        .unsent
                        .extend_from_slice(&unsent[written..]);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Writes what the stream takes of a request, and ends it after the last byte.
    fn write(&mut self, stream: StreamId, bytes: &[u8]) -> usize {
        let mut written = 0;
        let mut sending = self.quic.send_stream(stream);
        while written < bytes.len() {
            match sending.write(&bytes[written..]) {
                Ok(length) => written += length,
                Err(WriteError::Blocked) => return written,
                // The server wants no more of it; its answer decides.
                Err(_) => return bytes.len(),
            }
        }
        let _ = sending.finish();
        written
    }

    /// Reads what has come of an answer.
    fn read(
        &mut self,
        stream: StreamId,
        exchange: &Exchange,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let Some(index) = self.flow(stream) else {
            return Ok(());
        };
        let flow = &mut self.flows[index];
        let mut receiving = self.quic.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(true) else {
            return Ok(());
        };
        let outcome = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    if let Err(wrong) = flow.response.feed(&chunk.bytes) {
                        break Err(wrong);
                    }
                }
                Ok(None) => break flow.response.end().map(Some),
                Err(ReadError::Blocked) => break Ok(None),
                Err(ReadError::Reset(code)) if code.into_inner() == REQUEST_REJECTED => {
                    break Err(Wrong::Stream("the server refused the request"));
                }
                Err(ReadError::Reset(_)) => {
                    break Err(Wrong::Stream("the server reset the stream"));
                }
            }
        };
        // Whether it is to be transmitted is seen by the next flush.
        let _ = chunks.finalize();
        match outcome {
            Ok(Some(status)) => {
                let mut flow = self.flows.swap_remove(index);
                events.push(Event::Answered(Answer {
                    request: flow.request,
                    status,
                    bytes: flow.response.bytes(),
                    failure: flow.response.judge(&exchange.expect),
                }));
                if !flow.unsent.is_empty() {
                    // A server that answers before it has read the request will not read it.
                    let _ = self.quic.send_stream(stream).reset(REQUEST_CANCELLED);
                }
            }
            Ok(None) if !flow.begun => {
                flow.begun = true;
                events.push(Event::Begun(flow.request));
            }
            Ok(None) => {}
            Err(Wrong::Stream(why)) => {
                events.push(Event::Failed(flow.request, Failure::read(why)));
                self.give_up(index);
            }
            Err(Wrong::Connection(why)) => return Err(self.violated(why)),
        }
        Ok(())
    }

    /// Reads what has come on a stream of the server's own.
    fn read_server(&mut self, id: StreamId, events: &mut Vec<Event>) -> Result<(), End> {
        let found = self
            .server_streams
            .iter_mut()
            .find(|stream| stream.id == id);
        let Some(stream) = found else {
            return Ok(());
        };
        let mut receiving = self.quic.recv_stream(id);
        let Ok(mut chunks) = receiving.read(true) else {
            return Ok(());
        };
        let mut outcome = Ok(());
        let mut goaway = None;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => match stream.feed(&chunk.bytes) {
                    Ok(Said::Nothing) => {}
                    Ok(Said::GoAway(id)) => goaway = Some(id),
                    Err(why) => {
                        outcome = Err(why);
                        break;
                    }
                },
                Err(ReadError::Blocked) => break,
                Ok(None) | Err(ReadError::Reset(_)) => {
                    if stream.is_control() {
                        outcome = Err("the server closed its control stream");
                    }
                    break;
                }
            }
        }
        let _ = chunks.finalize();
        outcome.map_err(|why| self.violated(why))?;
        if let Some(first) = goaway {
            self.goaway = Some(first);
            while let Some(index) = self
                .flows
                .iter()
                .position(|flow| u64::from(flow.stream) >= first)
            {
                let refused = Failure::read("refused by the server's farewell");
                events.push(Event::Failed(self.flows[index].request, refused));
                self.give_up(index);
            }
        }
        Ok(())
    }

    fn flow(&self, stream: StreamId) -> Option<usize> {
        self.flows.iter().position(|flow| flow.stream == stream)
    }

    /// Tells the server that nobody waits for an answer any more.
    fn give_up(&mut self, index: usize) {
        let flow = self.flows.swap_remove(index);
        // Either direction may be closed already.
        let _ = self.quic.send_stream(flow.stream).reset(REQUEST_CANCELLED);
        let _ = self.quic.recv_stream(flow.stream).stop(REQUEST_CANCELLED);
    }

    /// The server has broken a rule.
    fn violated(&mut self, why: &'static str) -> End {
        let reason = Bytes::from_static(why.as_bytes());
        self.quic
            .close(Instant::now(), GENERAL_PROTOCOL_ERROR, reason);
        End::Broken(Failure::read(why))
    }
}

impl Drop for Connection {
    /// Says farewell, so that the server need not wait until it is sure.
    fn drop(&mut self) {
        let now = Instant::now();
        if !self.quic.is_closed() {
            self.quic.close(now, NO_ERROR, Bytes::new());
        }
        let mut datagrams = Vec::new();
        while let Some(transmit) = self.quic.poll_transmit(now, 1, &mut datagrams) {
            // Nobody is left who could try again.
            if !matches!(self.socket.send(transmit, &datagrams), Ok(true)) {
                break;
            }
            datagrams.clear();
        }
    }
}

/// What the loss of a connection means.
fn ending(reason: &ConnectionError, connected: bool, idle: bool) -> End {
    let why = match reason {
        ConnectionError::VersionMismatch => {
            "the server knows no version of QUIC that is known here"
        }
        ConnectionError::TransportError(_) if !connected => "the QUIC handshake failed",
        ConnectionError::TransportError(_) => "the server broke a rule of QUIC",
        ConnectionError::ConnectionClosed(_) if !connected => {
            "the server refused the QUIC handshake"
        }
        ConnectionError::ApplicationClosed(_) if idle => return End::Proper,
        ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_) => {
            "the server closed the connection"
        }
        ConnectionError::Reset => "the server knows the connection no more",
        ConnectionError::TimedOut if idle && connected => return End::Proper,
        ConnectionError::TimedOut => "the server said nothing for too long",
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => {
            "QUIC gave the connection up"
        }
    };
    End::Broken(match connected {
        true => Failure::read(why),
        false => Failure::connect(why),
    })
}
