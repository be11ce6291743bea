//! Frames that are about the connection, or that end a stream (RFC 9113, section 6).

use super::connection::farewell;
use super::frame::{self, Header, MAX_31, code, flag, kind};
use super::recv::{Receiving, Wrong};
use crate::protocol::{Event, Failure};

const LENGTH: Wrong = "a frame of a wrong length";
const PLACE: Wrong = "a frame on the wrong kind of stream";

impl Receiving<'_> {
    /// Take a whole frame that carries no part of an answer.
    pub(super) fn control(&mut self, header: Header, payload: &[u8]) -> Result<(), Wrong> {
        let (length, of_stream) = match header.kind {
            kind::SETTINGS => (None, false),
            kind::PING => (Some(8), false),
            kind::GOAWAY => (None, false),
            kind::RST_STREAM => (Some(4), true),
            kind::WINDOW_UPDATE => (Some(4), header.stream != 0),
            // Unknown ones, and PRIORITY, which RFC 9113 deprecates.
            _ => return Ok(()),
        };
        if length.is_some_and(|length| length != payload.len()) {
            return Err(LENGTH);
        }
        if of_stream != (header.stream != 0) {
            return Err(PLACE);
        }
        if of_stream && !self.connection.was_opened(header.stream) {
            return Err("a frame for a stream that we did not open");
        }
        match header.kind {
            kind::SETTINGS => self.settings(header, payload),
            kind::PING if header.has(flag::ACK) => Ok(()),
            kind::PING => {
                self.connection.owed.add()?;
                frame::acknowledge(kind::PING, payload, self.out);
                Ok(())
            }
            kind::GOAWAY => self.goaway(payload),
            kind::RST_STREAM => {
                self.reset(header.stream, frame::number(payload));
                Ok(())
            }
            _ => self.window(header.stream, frame::number(payload) & MAX_31),
        }
    }

    fn settings(&mut self, header: Header, payload: &[u8]) -> Result<(), Wrong> {
        if header.has(flag::ACK) {
            return if payload.is_empty() {
                Ok(())
            } else {
                Err(LENGTH)
            };
        }
        let connection = &mut *self.connection;
        let before = connection.peer.window;
        connection.peer.apply(payload)?;
        let change = i64::from(connection.peer.window) - i64::from(before);
        for stream in connection.streams.iter_mut() {
            stream.window += change;
            if stream.window > i64::from(MAX_31) {
                return Err("a window that is too large");
            }
        }
        connection.owed.add()?;
        frame::acknowledge(kind::SETTINGS, &[], self.out);
        connection.send_bodies(self.exchanges, self.out);
        Ok(())
    }

    /// Take a GOAWAY: the server opens no more streams and will not answer those above the last
    /// that it names.
    fn goaway(&mut self, payload: &[u8]) -> Result<(), Wrong> {
        if payload.len() < 8 {
            return Err(LENGTH);
        }
        let last = frame::number(payload) & MAX_31;
        let error = frame::number(&payload[4..]);
        let lost = self
            .connection
            .streams
            .iter_mut()
            .filter(|stream| stream.id > last);
        let mut lost: Vec<u32> = lost.map(|stream| stream.id).collect();
        lost.sort_unstable();
        // An error is reported once: by the requests that it cost, or else by the connection's end.
        let reported = !lost.is_empty();
        self.connection.goaway = Some(if reported { code::NO_ERROR } else { error });
        for id in lost {
            match error {
                code::NO_ERROR => self.refuse(id),
                error => self.lose(id, farewell(error)),
            }
        }
        Ok(())
    }

    fn reset(&mut self, id: u32, error: u32) {
        let why = match error {
            code::REFUSED_STREAM => "the server refused the stream",
            _ => "the server reset the stream",
        };
        self.lose(id, why);
    }

    /// Hand back a request that the server has not processed.
    fn refuse(&mut self, id: u32) {
        if let Some(stream) = self.connection.streams.get(id) {
            let failure = Failure::read("refused by the server's GOAWAY");
            self.events.push(Event::Refused(stream.request, failure));
            if let Some(seat) = &mut stream.seat {
                seat.turn.refused(stream.exchange);
            }
            self.connection.close(id);
        }
    }

    /// Fail a request that the server itself gave up.
    fn lose(&mut self, id: u32, why: Wrong) {
        if let Some(stream) = self.connection.streams.get(id) {
            self.events
                .push(Event::Failed(stream.request, Failure::read(why)));
            self.connection.close(id);
        }
    }

    fn window(&mut self, id: u32, increment: u32) -> Result<(), Wrong> {
        let connection = &mut *self.connection;
        if increment == 0 {
            return Err("a window update of 0 bytes");
        }
        if id == 0 {
            connection.window += i64::from(increment);
            if connection.window > i64::from(MAX_31) {
                return Err("a window that is too large");
            }
        } else if let Some(stream) = connection.streams.get(id) {
            stream.window += i64::from(increment);
            if stream.window > i64::from(MAX_31) {
                self.fail(id, false, "a window that is too large");
                return Ok(());
            }
        }
        connection.send_bodies(self.exchanges, self.out);
        Ok(())
    }
}
