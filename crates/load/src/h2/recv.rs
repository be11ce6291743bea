//! Reads the server's frames from pieces of any size (RFC 9113, sections 4 to 6).

use super::connection::{Block, Connection, Data};
use super::frame::{HEADER, Header, MAX_PAYLOAD, flag, kind};
use super::request::Exchange;
use crate::crowd::turn::Step;
use crate::hpack::{Fault, Scratch};
use crate::protocol::Event;

/// Most bytes of one header block, and most frames.
const MAX_BLOCK: usize = 64 * 1024;
const MAX_FRAMES: u32 = 64;

/// Most frames in a row that advance no answer.
const MAX_IDLE: u32 = 10_000;

/// The reason why the connection cannot continue.
pub(super) type Wrong = &'static str;

/// The state of one call that receives bytes.
pub(super) struct Receiving<'c> {
    pub(super) exchanges: &'c [Exchange],
    /// The steps of users, by exchange; empty without them.
    pub(super) steps: &'c [Step],
    pub(super) scratch: &'c mut Scratch,
    pub(super) begun: &'c mut Vec<u32>,
    pub(super) connection: &'c mut Connection,
    pub(super) out: &'c mut Vec<u8>,
    pub(super) events: &'c mut Vec<Event>,
}

impl Receiving<'_> {
    /// Take the next bytes.
    pub(super) fn recv(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        let mut rest = bytes;
        // Bytes after the connection's end count for nothing, however they are cut.
        while !rest.is_empty() && self.connection.end().is_none() {
            let told = self.events.len();
            let after = if self.connection.data.is_some() {
                self.data_piece(rest)?
            } else if self.connection.cut.is_empty() {
                self.frame(rest)?
            } else {
                self.rest_of_cut(rest)?
            };
            self.connection.received += (rest.len() - after.len()) as u64;
            for event in &mut self.events[told..] {
                if let Event::Answered(answer) = event {
                    answer.end = self.connection.received;
                }
            }
            rest = after;
        }
        Ok(())
    }

    /// Take the frame that `bytes` begin with, or keep its beginning; return the bytes that follow.
    fn frame<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], Wrong> {
        let Some((header, rest)) = bytes.split_first_chunk() else {
            self.connection.cut.extend_from_slice(bytes);
            return Ok(&[]);
        };
        let header = Header::read(header);
        self.check(header)?;
        if header.kind == kind::DATA {
            self.data(header)?;
            return Ok(rest);
        }
        let Some((payload, rest)) = rest.split_at_checked(header.length) else {
            self.connection.cut.extend_from_slice(bytes);
            return Ok(&[]);
        };
        self.whole(header, payload)?;
        Ok(rest)
    }

    /// Complete the frame that was cut, if `bytes` suffice; return the bytes that follow.
    fn rest_of_cut<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], Wrong> {
        let mut cut = std::mem::take(&mut self.connection.cut);
        let mut rest = bytes;
        let mut fill = |length: usize, cut: &mut Vec<u8>| {
            let missing = length.saturating_sub(cut.len()).min(rest.len());
            let (more, after) = rest.split_at(missing);
            cut.extend_from_slice(more);
            rest = after;
        };
        fill(HEADER, &mut cut);
        if let Some(header) = cut.first_chunk() {
            let header = Header::read(header);
            self.check(header)?;
            if header.kind == kind::DATA {
                cut.clear();
                self.data(header)?;
            } else {
                fill(HEADER + header.length, &mut cut);
                if cut.len() == HEADER + header.length {
                    self.whole(header, &cut[HEADER..])?;
                    cut.clear();
                }
            }
        }
        // An idle connection should not hold much memory.
        if cut.is_empty() {
            cut.shrink_to(512);
        }
        self.connection.cut = cut;
        Ok(rest)
    }

    /// Refuse frames by their header alone.
    fn check(&self, header: Header) -> Result<(), Wrong> {
        let first = header.kind == kind::SETTINGS && !header.has(flag::ACK);
        if !self.connection.peer.settled && !first {
            return Err("the server does not speak HTTP/2");
        }
        if header.length > MAX_PAYLOAD {
            return Err("a frame that is too large");
        }
        let goes_on = header.kind == kind::CONTINUATION;
        match &self.connection.block {
            Some(block) if !goes_on || header.stream != block.stream => {
                Err("a header block that is interrupted")
            }
            None if goes_on => Err("a CONTINUATION without a header block"),
            _ => Ok(()),
        }
    }

    /// Count a frame that advances no answer.
    pub(super) fn idle(&mut self) -> Result<(), Wrong> {
        self.connection.idle += 1;
        if self.connection.idle > MAX_IDLE {
            return Err("a flood of frames that advance no answer");
        }
        Ok(())
    }

    /// Take a whole frame other than DATA.
    fn whole(&mut self, header: Header, payload: &[u8]) -> Result<(), Wrong> {
        match header.kind {
            kind::HEADERS => self.headers(header, payload),
            kind::CONTINUATION => self.continuation(header, payload),
            kind::PUSH_PROMISE => Err("a push, although pushes are disabled"),
            _ => {
                self.idle()?;
                self.control(header, payload)
            }
        }
    }

    fn headers(&mut self, header: Header, payload: &[u8]) -> Result<(), Wrong> {
        let fragment = fragment(header, payload)?;
        self.arrived(header)?;
        let ends = header.has(flag::END_STREAM);
        if header.has(flag::END_HEADERS) {
            return self.block(header.stream, ends, fragment);
        }
        self.connection.block = Some(Block {
            stream: header.stream,
            ends,
            frames: 1,
            bytes: fragment.to_vec(),
        });
        Ok(())
    }

    fn continuation(&mut self, header: Header, payload: &[u8]) -> Result<(), Wrong> {
        self.arrived(header)?;
        let Some(mut block) = self.connection.block.take() else {
            return Ok(());
        };
        block.frames += 1;
        if block.frames > MAX_FRAMES || block.bytes.len() + payload.len() > MAX_BLOCK {
            return Err(Fault::TooLong.why());
        }
        block.bytes.extend_from_slice(payload);
        if header.has(flag::END_HEADERS) {
            return self.block(block.stream, block.ends, &block.bytes);
        }
        self.connection.block = Some(block);
        Ok(())
    }

    /// Count a frame of a stream, or refuse it if the stream cannot have one.
    fn arrived(&mut self, header: Header) -> Result<(), Wrong> {
        let connection = &mut *self.connection;
        if let Some(stream) = connection.streams.get(header.stream) {
            stream.bytes += (HEADER + header.length) as u64;
            if !stream.begun {
                stream.begun = true;
                self.begun.push(header.stream);
            }
            return Ok(());
        }
        if !connection.was_opened(header.stream) {
            return Err("a frame for a stream that we did not open");
        }
        if header.stream > connection.forgiven {
            return Err("a frame for a stream that has ended");
        }
        self.idle()
    }

    /// Begin a DATA frame.
    fn data(&mut self, header: Header) -> Result<(), Wrong> {
        self.arrived(header)?;
        let padded = header.has(flag::PADDED);
        if padded && header.length == 0 {
            return Err("a padded frame without its padding's length");
        }
        self.count_window(header);
        let data = Data {
            stream: header.stream,
            left: header.length,
            padding: if padded { None } else { Some(0) },
            ends: header.has(flag::END_STREAM),
        };
        if data.left > 0 {
            self.connection.data = Some(data);
            return Ok(());
        }
        self.idle()?;
        self.data_end(data);
        Ok(())
    }

    /// Take the part of `bytes` that belongs to the current DATA frame; return the bytes that
    /// follow.
    fn data_piece<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], Wrong> {
        let Some(mut data) = self.connection.data.take() else {
            return Ok(bytes);
        };
        let mut rest = bytes;
        if data.padding.is_none() {
            let (first, after) = rest.split_first().unwrap_or((&0, &[]));
            rest = after;
            data.left -= 1;
            data.padding = Some(usize::from(*first));
            if usize::from(*first) > data.left {
                return Err("padding that is longer than its frame");
            }
            if usize::from(*first) == data.left {
                self.idle()?;
            }
        }
        let padding = data.padding.unwrap_or(0);
        let (body, after) = rest.split_at(rest.len().min(data.left.saturating_sub(padding)));
        data.left -= body.len();
        self.body(data.stream, body);
        let pad = after.len().min(data.left.min(padding));
        data.left -= pad;
        data.padding = Some(padding);
        if data.left == 0 {
            self.data_end(data);
        } else {
            self.connection.data = Some(data);
        }
        Ok(&after[pad..])
    }
}

/// The part of a HEADERS frame's payload that belongs to the header block.
fn fragment(header: Header, payload: &[u8]) -> Result<&[u8], Wrong> {
    const SHORT: Wrong = "a HEADERS frame that is too short";
    let mut rest = payload;
    let mut padding = 0;
    if header.has(flag::PADDED) {
        let (first, after) = rest.split_first().ok_or(SHORT)?;
        padding = usize::from(*first);
        rest = after;
    }
    if header.has(flag::PRIORITY) {
        rest = rest.get(5..).ok_or(SHORT)?;
    }
    let length = rest.len().checked_sub(padding).ok_or(SHORT)?;
    Ok(&rest[..length])
}
