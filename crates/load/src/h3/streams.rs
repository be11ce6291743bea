//! The requests in flight on a connection's streams, and the server's own streams.

use quinn_proto::{Dir, ReadError, StreamEvent, StreamId, VarInt, WriteError};

use super::connection::Connection;
use super::control::{ControlEvent, ServerStream};
use super::response::Wrong;
use super::script::Script;
use crate::protocol::{Answer, End, Event, Failure};

/// Errors of HTTP/3 (RFC 9114, section 8.1).
const REQUEST_REJECTED: u64 = 0x10b;
const REQUEST_CANCELLED: VarInt = VarInt::from_u32(0x10c);

impl Connection {
    /// Handle an event of QUIC's streams.
    ///
    /// # Errors
    /// The connection's end.
    pub(super) fn on_stream(
        &mut self,
        event: StreamEvent,
        script: Script<'_>,
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
            StreamEvent::Readable { id } => self.read(id, script, events),
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

    /// Write as much of a request as the stream takes, and finish the stream after the last byte;
    /// return the number of bytes.
    pub(super) fn write(&mut self, stream: StreamId, bytes: &[u8]) -> usize {
        let mut written = 0;
        let mut sending = self.quic.send_stream(stream);
        while written < bytes.len() {
            match sending.write(&bytes[written..]) {
                Ok(length) => written += length,
                Err(WriteError::Blocked) => return written,
                // The server stopped reading; its answer decides.
                Err(_) => return bytes.len(),
            }
        }
        let _ = sending.finish();
        written
    }

    /// Read the available part of an answer.
    fn read(
        &mut self,
        stream: StreamId,
        script: Script<'_>,
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
        // The next flush transmits what this makes due.
        let _ = chunks.finalize();
        match outcome {
            Ok(Some(status)) => {
                let mut flow = self.flows.swap_remove(index);
                let expect = &script.exchanges[flow.exchange as usize].expect;
                let mut failure = flow.response.judge(expect);
                if let Some(mut seat) = flow.seat.take() {
                    let step = &script.steps[flow.exchange as usize];
                    let body_check = flow.response.body_check();
                    failure = seat.turn.answered(step, status, failure, body_check);
                    self.seats.free(seat);
                }
                events.push(Event::Answered(Answer {
                    request: flow.request,
                    status,
                    bytes: flow.response.bytes(),
                    body: flow.response.body(),
                    hit: flow.response.hit(),
                    failure,
                    end: 0,
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
            Err(Wrong::Connection(why)) => {
                if !flow.begun {
                    events.push(Event::Begun(flow.request));
                }
                return Err(self.violated(why));
            }
        }
        Ok(())
    }

    /// Read the available bytes of a stream that the server opened.
    fn read_server(&mut self, id: StreamId, events: &mut Vec<Event>) -> Result<(), End> {
        let mut all = self.server_streams.iter();
        let Some(index) = all.position(|stream| stream.id == id) else {
            return Ok(());
        };
        let stream = &mut self.server_streams[index];
        let mut receiving = self.quic.recv_stream(id);
        let Ok(mut chunks) = receiving.read(true) else {
            return Ok(());
        };
        let mut outcome = Ok(());
        let (mut goaway, mut ended) = (None, false);
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => match stream.feed(&chunk.bytes) {
                    Ok(ControlEvent::Nothing) => {}
                    Ok(ControlEvent::GoAway(id)) => goaway = Some(id),
                    Err(why) => {
                        outcome = Err(why);
                        break;
                    }
                },
                Err(ReadError::Blocked) => break,
                Ok(None) | Err(ReadError::Reset(_)) => {
                    match stream.is_control() {
                        true => outcome = Err("the server closed its control stream"),
                        false => ended = true,
                    }
                    break;
                }
            }
        }
        let _ = chunks.finalize();
        outcome.map_err(|why| self.violated(why))?;
        if ended {
            self.server_streams.swap_remove(index);
        }
        if let Some(first) = goaway {
            self.goaway = Some(first);
            while let Some(index) = self
                .flows
                .iter()
                .position(|flow| u64::from(flow.stream) >= first)
            {
                let refused = Failure::read("refused by the server's GOAWAY");
                let flow = &mut self.flows[index];
                events.push(Event::Refused(flow.request, refused));
                if let Some(seat) = &mut flow.seat {
                    seat.turn.refused(flow.exchange);
                }
                self.give_up(index);
            }
        }
        Ok(())
    }

    fn flow(&self, stream: StreamId) -> Option<usize> {
        self.flows.iter().position(|flow| flow.stream == stream)
    }

    /// Give a request up and tell the server so.
    pub(super) fn give_up(&mut self, index: usize) {
        let flow = self.flows.swap_remove(index);
        if let Some(seat) = flow.seat {
            self.seats.free(seat);
        }
        // Either direction may be closed already.
        let _ = self.quic.send_stream(flow.stream).reset(REQUEST_CANCELLED);
        let _ = self.quic.recv_stream(flow.stream).stop(REQUEST_CANCELLED);
    }
}
