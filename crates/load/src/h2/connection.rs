//! One connection: its streams, and the windows of both sides.

use super::frame::{self, Header, MAX_31, MAX_PAYLOAD, code, flag, kind};
use super::head::HeadReader;
use super::request::Exchange;
use super::settings::Peer;
use super::streams::Streams;
use crate::cache_header::CacheHeader;
use crate::crowd::seats::Seats;
use crate::owed::Owed;
use crate::protocol::{End, Failure};

/// One connection's state.
#[derive(Debug)]
pub struct Connection {
    pub(super) target: usize,
    /// Bytes of whole frames, and of those under way, so far.
    pub(super) received: u64,
    /// The beginning of a frame whose rest has not arrived; never one with data.
    pub(super) cut: Vec<u8>,
    /// The DATA frame under way.
    pub(super) data: Option<Data>,
    /// The header block under way.
    pub(super) block: Option<Block>,
    pub(super) heads: HeadReader,
    pub(super) streams: Streams,
    /// The users, if requests are sent in sequences.
    pub(super) seats: Seats,
    pub(super) next: u32,
    /// The last stream that was given up: the server may not know of it yet.
    pub(super) forgiven: u32,
    pub(super) peer: Peer,
    /// Bytes of data that the server takes now over all streams.
    pub(super) window: i64,
    /// Bytes of received data by which the window has not been extended yet.
    pub(super) unreturned: u32,
    /// Streams whose requests' bodies wait for a window.
    pub(super) waiting: usize,
    /// Replies to the server's pings and settings.
    pub(super) owed: Owed,
    /// Frames in a row that advanced no answer.
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
    /// Bytes of padding among them; `None` before the padding's length has come.
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
    pub(super) fn new(target: usize, cache: CacheHeader) -> Self {
        let peer = Peer::default();
        Connection {
            target,
            received: 0,
            cut: Vec::new(),
            data: None,
            block: None,
            heads: HeadReader::new(cache),
            streams: Streams::default(),
            seats: Seats::default(),
            next: 1,
            forgiven: 0,
            window: i64::from(peer.window),
            peer,
            unreturned: 0,
            waiting: 0,
            owed: Owed::default(),
            idle: 0,
            goaway: None,
        }
    }

    /// The number of further requests that may be sent, with at most `depth` in flight.
    pub(super) fn room(&self, depth: usize) -> usize {
        if self.is_closing() {
            return 0;
        }
        depth
            .min(self.peer.max_streams as usize)
            .saturating_sub(self.streams.len())
    }

    /// Return true if no further stream can be opened.
    fn is_closing(&self) -> bool {
        self.goaway.is_some() || self.next > MAX_31
    }

    /// Return true if `id` names a stream that was ever opened.
    pub(super) fn was_opened(&self, id: u32) -> bool {
        id % 2 == 1 && id < self.next
    }

    /// Return true if the server may close now without cutting a frame.
    pub(super) fn is_between_frames(&self) -> bool {
        self.cut.is_empty() && self.data.is_none() && self.block.is_none()
    }

    /// The connection's end, if nothing is in flight and no stream can be opened.
    pub(super) fn end(&self) -> Option<End> {
        if !self.is_closing() || !self.streams.is_empty() {
            return None;
        }
        Some(match self.goaway {
            None | Some(code::NO_ERROR) => End::Proper,
            Some(code) => End::Broken(Failure::read(farewell(code))),
        })
    }

    /// Forget a stream that ended.
    pub(super) fn close(&mut self, id: u32) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        self.waiting -= usize::from(stream.unsent > 0);
        if let Some(seat) = stream.seat.take() {
            self.seats.free(seat);
        }
        self.streams.close(id);
    }

    /// Give a stream up; the server may continue it for a while.
    pub(super) fn give_up(&mut self, id: u32, code: u32, out: &mut Vec<u8>) {
        self.close(id);
        self.forgiven = self.forgiven.max(id);
        frame::reset(id, code, out);
    }

    /// Append as much of the body of stream `id` as both windows allow: its user's, or else `body`.
    pub(super) fn send_body(&mut self, id: u32, body: &[u8], out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        let body = stream.seat.as_ref().map_or(body, |seat| &seat.body);
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

    /// Continue all bodies, the oldest first, after a window grew.
    pub(super) fn send_bodies(&mut self, exchanges: &[Exchange], out: &mut Vec<u8>) {
        if self.waiting == 0 || self.window <= 0 {
            return;
        }
        let waiting = self
            .streams
            .iter_mut()
            .filter(|stream| stream.unsent > 0 && stream.window > 0);
        let mut waiting: Vec<_> = waiting.map(|stream| (stream.id, stream.exchange)).collect();
        waiting.sort_unstable();
        for (id, exchange) in waiting {
            self.send_body(id, exchanges[exchange as usize].request.body(), out);
        }
    }
}

/// The failure's text for a GOAWAY with an error.
pub(super) fn farewell(code: u32) -> &'static str {
    match code {
        code::PROTOCOL_ERROR => "the server sent GOAWAY: PROTOCOL_ERROR",
        code::ENHANCE_YOUR_CALM => "the server sent GOAWAY: ENHANCE_YOUR_CALM",
        _ => "the server sent GOAWAY with an error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectation::Expectation;

    #[test]
    fn a_connection_ends_with_its_identifiers() {
        let mut connection = Connection::new(0, CacheHeader::default());
        connection.next = MAX_31;
        assert_eq!((connection.room(5), connection.end()), (1, None));
        connection
            .streams
            .open(connection.next, (0, 0), &Expectation::default());
        connection.next += 2;
        assert_eq!((connection.room(5), connection.end()), (0, None));
        connection.close(MAX_31);
        assert_eq!(
            (connection.room(5), connection.end()),
            (0, Some(End::Proper))
        );
    }
}
