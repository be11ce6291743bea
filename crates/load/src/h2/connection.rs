//! One connection: what was asked, and what both sides may send.

use super::frame::{self, Header, MAX_31, MAX_PAYLOAD, code, flag, kind};
use super::head::HeadReader;
use super::settings::Peer;
use super::streams::Streams;
use crate::protocol::{End, Failure};

/// One connection's state.
#[derive(Debug)]
pub struct Connection {
    pub(super) target: usize,
    /// The beginning of a frame whose rest has not arrived; never one with data.
    pub(super) cut: Vec<u8>,
    /// The DATA frame under way.
    pub(super) data: Option<Data>,
    /// The header block under way.
    pub(super) block: Option<Block>,
    pub(super) heads: HeadReader,
    pub(super) streams: Streams,
    pub(super) next: u32,
    /// Up to this stream, the server may not know yet that we gave some up.
    pub(super) forgiven: u32,
    pub(super) peer: Peer,
    /// How many bytes of data the server takes now on all streams.
    pub(super) window: i64,
    /// Bytes of data that the server has not been given back.
    pub(super) unreturned: u32,
    /// Streams whose requests' bodies wait for a window.
    pub(super) waiting: usize,
    /// Frames in a row that brought no answer forward.
    pub(super) idle: u32,
    /// The error code of the server's GOAWAY.
    pub(super) goaway: Option<u32>,
}

/// A DATA frame whose payload is not yet whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) stream: u32,
    /// Bytes to come, padding included.
    pub(super) left: usize,
    /// How many of them are padding; `None` before the byte that says so.
    pub(super) padding: Option<usize>,
    pub(super) ends: bool,
}

/// A header block whose last frame has not come.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) stream: u32,
    pub(super) ends: bool,
    pub(super) frames: u32,
    pub(super) bytes: Vec<u8>,
}

impl Connection {
    pub(super) fn new(target: usize) -> Self {
        let peer = Peer::default();
        Connection {
            target,
            cut: Vec::new(),
            data: None,
            block: None,
            heads: HeadReader::default(),
            streams: Streams::default(),
            next: 1,
            forgiven: 0,
            window: i64::from(peer.window),
            peer,
            unreturned: 0,
            waiting: 0,
            idle: 0,
            goaway: None,
        }
    }

    /// How many more requests may be sent, with at most `depth` in flight.
    pub(super) fn room(&self, depth: usize) -> usize {
        if self.is_closing() {
            return 0;
        }
        depth
            .min(self.peer.max_streams as usize)
            .saturating_sub(self.streams.len())
    }

    /// Whether no stream can be opened any more.
    fn is_closing(&self) -> bool {
        self.goaway.is_some() || self.next > MAX_31
    }

    /// Whether `id` names a stream that was ever opened.
    pub(super) fn was_opened(&self, id: u32) -> bool {
        id % 2 == 1 && id < self.next
    }

    /// Whether the server may stop talking now.
    pub(super) fn is_between_frames(&self) -> bool {
        self.cut.is_empty() && self.data.is_none() && self.block.is_none()
    }

    /// How the connection ends when nothing is in flight and nothing more can be asked.
    pub(super) fn end(&self) -> Option<End> {
        if !self.is_closing() || !self.streams.is_empty() {
            return None;
        }
        Some(match self.goaway {
            None | Some(code::NO_ERROR) => End::Proper,
            Some(code) => End::Broken(Failure::read(farewell(code))),
        })
    }

    /// Forgets a stream that ended.
    pub(super) fn close(&mut self, id: u32) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        self.waiting -= usize::from(stream.unsent > 0);
        self.streams.close(id);
    }

    /// Gives a stream up, which the server may go on with for a while.
    pub(super) fn give_up(&mut self, id: u32, code: u32, out: &mut Vec<u8>) {
        self.close(id);
        self.forgiven = self.forgiven.max(id);
        frame::reset(id, code, out);
    }

    /// Appends as much of the body of stream `id` as both windows take.
    pub(super) fn send_body(&mut self, id: u32, body: &[u8], out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        while stream.unsent > 0 {
            let window = usize::try_from(stream.window.min(self.window)).unwrap_or(0);
            let length = stream
                .unsent
                .min(window)
                .min(MAX_PAYLOAD.min(self.peer.max_payload));
            if length == 0 {
                return;
            }
            let start = body.len() - stream.unsent;
            stream.unsent -= length;
            stream.window -= length as i64;
            self.window -= length as i64;
            self.idle = 0;
            let flags = if stream.unsent == 0 {
                flag::END_STREAM
            } else {
                0
            };
            Header {
                length,
                kind: kind::DATA,
                flags,
                stream: id,
            }
            .write(out);
            out.extend_from_slice(&body[start..start + length]);
        }
        self.waiting -= 1;
    }

    /// Goes on with all bodies, the oldest first, after a window grew.
    pub(super) fn send_bodies(&mut self, body: &[u8], out: &mut Vec<u8>) {
        if self.waiting == 0 || self.window <= 0 {
            return;
        }
        let waiting = self
            .streams
            .iter_mut()
            .filter(|stream| stream.unsent > 0 && stream.window > 0);
        let mut waiting: Vec<u32> = waiting.map(|stream| stream.id).collect();
        waiting.sort_unstable();
        for id in waiting {
            self.send_body(id, body, out);
        }
    }
}

/// What a GOAWAY with an error says, for people.
pub(super) fn farewell(code: u32) -> &'static str {
    match code {
        code::PROTOCOL_ERROR => "the server said GOAWAY: PROTOCOL_ERROR",
        code::ENHANCE_YOUR_CALM => "the server said GOAWAY: ENHANCE_YOUR_CALM",
        _ => "the server said GOAWAY with an error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Expectation;

    #[test]
    fn a_connection_ends_with_its_identifiers() {
        let mut connection = Connection::new(0);
        connection.next = MAX_31;
        assert_eq!((connection.room(5), connection.end()), (1, None));
        connection
            .streams
            .open(connection.next, 0, &Expectation::default());
        connection.next += 2;
        assert_eq!((connection.room(5), connection.end()), (0, None));
        connection.close(MAX_31);
        assert_eq!(
            (connection.room(5), connection.end()),
            (0, Some(End::Proper))
        );
    }
}
