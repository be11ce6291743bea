//! From a stream's frames to its answer (RFC 9113, section 8.1).

use super::connection::Data;
use super::frame::{self, Header, code};
use super::recv::{Receiving, Wrong};
use super::settings::WINDOW;
use super::streams::Stream;
use crate::grpc;
use crate::hpack::Fault;
use crate::protocol::{Answer, Event, Failure};

/// Most bytes of the frames in front of a body, interim responses included.
const MAX_HEADS: u64 = 64 * 1024;

/// Keep the fields of a block, if the answer is kept.
fn keep(stream: &mut Stream, fields: &[(Vec<u8>, Vec<u8>)]) {
    if let Some(draft) = stream.body_check.draft() {
        let fields = fields.iter();
        fields.for_each(|(name, value)| draft.field(name, value));
    }
}

/// Take the fields of a head, if values are taken from it.
fn take(stream: &mut Stream, fields: &[(Vec<u8>, Vec<u8>)]) {
    if stream.seat.is_some() {
        let fields = fields.iter();
        fields.for_each(|(name, value)| stream.body_check.field(name, value));
    }
}

impl Receiving<'_> {
    /// Take a whole header block. Even one of a stream that was given up may change the decoder's
    /// table.
    pub(super) fn block(&mut self, id: u32, ends: bool, block: &[u8]) -> Result<(), Wrong> {
        let head = self
            .connection
            .heads
            .read(block, self.scratch)
            .map_err(Fault::why)?;
        let Some(stream) = self.connection.streams.get(id) else {
            return Ok(());
        };
        self.connection.idle = 0;
        let wrong = match (stream.status, head.status) {
            _ if head.wrong.is_some() => head.wrong,
            (0, 0) => Some("a response without a status"),
            (0, 101) => Some("a switch of protocols, which HTTP/2 does not allow"),
            (0, 100..200) if ends => Some("an interim response that ends the stream"),
            (0, _) if stream.bytes > MAX_HEADS => Some(Fault::TooLong.why()),
            (0, 100..200) => return Ok(()),
            (0, status) => {
                stream.status = status;
                stream.hit = head.hit;
                let exchange = &self.exchanges[stream.exchange as usize];
                let bodiless = exchange.bodiless || matches!(status, 204 | 304);
                stream.length = if bodiless { Some(0) } else { head.length };
                stream.grpc.1 = head.grpc;
                keep(stream, self.connection.heads.fields());
                take(stream, self.connection.heads.fields());
                None
            }
            (_, 0) if ends => {
                stream.grpc.1 = head.grpc.or(stream.grpc.1);
                keep(stream, self.connection.heads.fields());
                None
            }
            _ => Some("invalid trailers"),
        };
        match wrong {
            Some(why) => self.fail(id, ends, why),
            None if ends => self.finish(id),
            None => {}
        }
        Ok(())
    }

    /// Take the next bytes of a body.
    pub(super) fn body(&mut self, id: u32, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let Some(stream) = self.connection.streams.get(id) else {
            return;
        };
        self.connection.idle = 0;
        let exchange = &self.exchanges[stream.exchange as usize];
        if exchange.grpc && stream.status == grpc::OK {
            let read = stream.grpc.0.feed(bytes, &mut stream.body_check);
            if let Err(why) = read {
                return self.fail(id, false, why);
            }
            // Its length is that of the messages with their prefixes.
            stream.length = None;
        } else {
            stream.body_check.update(bytes);
        }
        if stream.status == 0 {
            self.fail(id, false, "a body before its header");
        } else if stream
            .length
            .is_some_and(|length| stream.body_check.length() > length)
        {
            self.fail(id, false, "a body longer than its header says");
        }
    }

    /// Note that a DATA frame is whole.
    pub(super) fn data_end(&mut self, data: Data) {
        if data.ends {
            self.finish(data.stream);
        }
    }

    /// Extend the windows when half of them is used, so that the server never has to wait.
    pub(super) fn count_window(&mut self, header: Header) {
        let length = header.length as u32;
        self.connection.unreturned += length;
        if self.connection.unreturned > WINDOW / 2 {
            frame::window_update(0, self.connection.unreturned, self.out);
            self.connection.unreturned = 0;
        }
        if let Some(stream) = self.connection.streams.get(header.stream) {
            stream.unreturned += length;
            if stream.unreturned > WINDOW / 2 {
                frame::window_update(stream.id, stream.unreturned, self.out);
                stream.unreturned = 0;
            }
        }
    }

    /// Report the answer of a stream whose last frame has come.
    fn finish(&mut self, id: u32) {
        let Some(stream) = self.connection.streams.get(id) else {
            return;
        };
        if stream.status == 0 {
            return self.fail(id, true, "the stream ended before the header");
        }
        if stream
            .length
            .is_some_and(|length| length != stream.body_check.length())
        {
            return self.fail(id, true, "a body shorter than its header says");
        }
        let exchange = &self.exchanges[stream.exchange as usize];
        let status = match exchange.grpc {
            false => Ok(stream.status),
            // No message was begun in an answer of another status.
            true if !stream.grpc.0.is_between() => Err("a message that is cut short"),
            true => grpc::status(stream.status, stream.grpc.1),
        };
        let status = match status {
            Ok(status) => status,
            Err(why) => return self.fail(id, true, why),
        };
        let mut failure = exchange.expect.judge(status, &mut stream.body_check);
        if let Some(seat) = &mut stream.seat {
            let step = &self.steps[stream.exchange as usize];
            let body_check = &stream.body_check;
            failure = seat.turn.answered(step, status, failure, body_check);
        }
        self.events.push(Event::Answered(Answer {
            request: stream.request,
            status,
            bytes: stream.bytes,
            body: stream.body_check.length(),
            hit: stream.hit,
            failure,
            // What receives the bytes knows it.
            end: 0,
        }));
        if stream.unsent > 0 {
            // A server that answers before it has read the request will not read it.
            self.connection.give_up(id, code::CANCEL, self.out);
        } else {
            self.connection.close(id);
        }
    }

    /// Fail the request of a stream; `ended` says that the server has sent its last frame on it.
    pub(super) fn fail(&mut self, id: u32, ended: bool, why: Wrong) {
        let Some(stream) = self.connection.streams.get(id) else {
            return;
        };
        self.events
            .push(Event::Failed(stream.request, Failure::read(why)));
        if ended && stream.unsent == 0 {
            self.connection.close(id);
        } else {
            self.connection.give_up(id, code::PROTOCOL_ERROR, self.out);
        }
    }
}
