//! WebSocket (RFC 6455): messages that come back, every byte of which is compared.

pub mod frame;
mod upgrade;

use std::collections::VecDeque;

use self::frame::{Header, HeaderReader, opcode};
pub use self::upgrade::Upgrade;
use crate::dialogue::{Dialogue, ReadHint};
use crate::echo::{DIFFERS, Messages};
use crate::keys::Keys;
use crate::owed::Owed;
use crate::protocol::{Answer, End, Event, ExchangeId, Failure, Kind, RequestId};

/// The status that an exact echo counts as.
const STATUS: u16 = 200;

const TEXT: Failure = Failure {
    kind: Kind::Body,
    why: "a text message came back for a binary one",
};

const CUT: End = End::Broken(Failure::read("closed before all bytes came back"));

/// WebSocket as one thread speaks it.
#[derive(Debug)]
pub struct WebSocket<'a> {
    /// By target.
    upgrades: &'a [Upgrade],
    messages: &'a Messages,
    depth: usize,
    keys: Vec<Keys>,
    /// Messages of all connections so far.
    number: usize,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    target: usize,
    open: bool,
    /// The beginning of the answer to the switch, or of a control frame's payload.
    kept: Vec<u8>,
    reader: HeaderReader,
    /// The frame under way, with the bytes of its payload that are still to come.
    frame: Option<Header>,
    /// Requests in flight, and the numbers of their messages.
    in_flight: VecDeque<(RequestId, usize)>,
    /// True within a message that comes back.
    in_message: bool,
    /// Bytes of it that have come.
    received: usize,
    /// Bytes of its frames.
    bytes: u64,
    begun: bool,
    /// Pongs for the server's pings.
    owed: Owed,
}

impl<'a> WebSocket<'a> {
    /// An echo of `messages` in connections that `upgrades` begin, with at most `depth` on the way on
    /// each. Threads differ in their first `number`.
    pub fn new(
        upgrades: &'a [Upgrade],
        messages: &'a Messages,
        depth: usize,
        keys: Vec<Keys>,
        number: usize,
    ) -> Self {
        WebSocket {
            upgrades,
            messages,
            depth,
            keys,
            number,
        }
    }

    /// Take bytes of the frames.
    fn frames(
        &self,
        connection: &mut Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let outcome = self.each_frame(connection, bytes, out, events);
        let malformed = match outcome {
            Err(End::Broken(failure)) => failure.kind == Kind::Read && outcome != Err(CUT),
            _ => false,
        };
        if let (true, false, Some((request, _))) = (
            connection.in_message || malformed,
            connection.begun,
            connection.in_flight.front(),
        ) {
            connection.begun = true;
            events.push(Event::Begun(*request));
        }
        outcome
    }

    /// Take bytes of frames, one after the other.
    fn each_frame(
        &self,
        connection: &mut Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(mut header) = connection.frame else {
                let (header, used) = connection.reader.feed(rest).map_err(End::Broken)?;
                rest = &rest[used..];
                if let Some(header) = header {
                    connection.begin(header).map_err(End::Broken)?;
                    if header.length == 0 {
                        self.end(connection, header, out, events)?;
                    }
                }
                continue;
            };
            let here = rest
                .len()
                .min(usize::try_from(header.length).unwrap_or(usize::MAX));
            let (piece, later) = rest.split_at(here);
            rest = later;
            if header.is_control() {
                connection.kept.extend_from_slice(piece);
            } else {
                connection
                    .compare(piece, self.messages)
                    .map_err(End::Broken)?;
                connection.bytes += here as u64;
            }
            header.length -= here as u64;
            connection.frame = Some(header);
            if header.length == 0 {
                self.end(connection, header, out, events)?;
            }
        }
        Ok(())
    }

    /// Note that a frame is whole.
    fn end(
        &self,
        connection: &mut Connection,
        header: Header,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        connection.frame = None;
        match header.opcode {
            opcode::PING => {
                let added = connection.owed.add();
                added.map_err(|why| End::Broken(Failure::read(why)))?;
                let mask = self.mask(self.number);
                frame::write(opcode::PONG, &connection.kept, mask, out);
                connection.kept.clear();
            }
            opcode::CLOSE => {
                return Err(match connection.in_flight.is_empty() {
                    true => End::Proper,
                    false => CUT,
                });
            }
            opcode::PONG => connection.kept.clear(),
            _ if header.last => {
                let whole = connection.received == self.messages.size();
                if let Some((_, number)) = connection.in_flight.front() {
                    self.messages.keep(*number, connection.received, &[]);
                }
                let Some((request, _)) = connection.in_flight.pop_front().filter(|_| whole) else {
                    return Err(End::Broken(DIFFERS));
                };
                events.push(Event::Answered(Answer {
                    request,
                    status: STATUS,
                    bytes: connection.bytes,
                    body: connection.received as u64,
                    hit: None,
                    failure: None,
                    end: 0,
                }));
                connection.in_message = false;
                connection.begun = false;
                connection.received = 0;
                connection.bytes = 0;
            }
            _ => {}
        }
        Ok(())
    }

    /// A frame's mask: that of the standard is unpredictable, so that no page can choose the bytes on
    /// the wire; here it need only differ from frame to frame.
    fn mask(&self, number: usize) -> [u8; 4] {
        (number as u32).wrapping_mul(0x9e37_79b9).to_be_bytes()
    }
}

impl Connection {
    /// Begin a frame.
    fn begin(&mut self, header: Header) -> Result<(), Failure> {
        self.frame = Some(header);
        if header.is_control() {
            return Ok(());
        }
        self.bytes += header.size as u64;
        let continues = header.opcode == opcode::CONTINUATION;
        if continues != self.in_message {
            return Err(Failure::read("WebSocket frames that make no message"));
        }
        if header.opcode == opcode::TEXT {
            return Err(TEXT);
        }
        if !continues && header.opcode != opcode::BINARY || self.in_flight.is_empty() {
            return Err(DIFFERS);
        }
        self.in_message = true;
        Ok(())
    }

    fn compare(&mut self, piece: &[u8], messages: &Messages) -> Result<(), Failure> {
        let (_, number) = self.in_flight.front().ok_or(DIFFERS)?;
        let expected = &messages.message(*number)[self.received..];
        if !expected.starts_with(piece) {
            messages.keep(*number, self.received, piece);
            return Err(DIFFERS);
        }
        self.received += piece.len();
        Ok(())
    }
}

impl Dialogue for WebSocket<'_> {
    type Connection = Connection;

    fn begin(&mut self, target: usize, out: &mut Vec<u8>) -> Connection {
        self.upgrades[target].write(&mut self.keys[target], out);
        Connection {
            target,
            open: false,
            kept: Vec::new(),
            reader: HeaderReader::default(),
            frame: None,
            in_flight: VecDeque::new(),
            in_message: false,
            received: 0,
            bytes: 0,
            begun: false,
            owed: Owed::default(),
        }
    }

    fn room(&self, connection: &Connection) -> usize {
        match connection.open {
            true => self.depth - connection.in_flight.len(),
            false => 0,
        }
    }

    fn awaited(&self, _: &Connection) -> &'static str {
        "no switch to WebSocket in time"
    }

    fn send(
        &mut self,
        connection: &mut Connection,
        request: RequestId,
        _: ExchangeId,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        self.number = self.number.wrapping_add(1);
        let message = self.messages.message(self.number);
        frame::write(opcode::BINARY, message, self.mask(self.number), out);
        connection.in_flight.push_back((request, self.number));
        Ok(())
    }

    fn read_hint(&self, _: &Connection) -> ReadHint {
        ReadHint::Recv(usize::MAX)
    }

    fn recv(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        if connection.open {
            return self.frames(connection, bytes, out, events);
        }
        connection.kept.extend_from_slice(bytes);
        let upgrade = &self.upgrades[connection.target];
        if let Some(length) = upgrade.read(&connection.kept).map_err(End::Broken)? {
            let kept = std::mem::take(&mut connection.kept);
            connection.open = true;
            return self.frames(connection, &kept[length..], out, events);
        }
        Ok(())
    }

    fn taken(&mut self, connection: &mut Connection) {
        connection.owed.taken();
    }

    fn recv_end(&mut self, connection: &mut Connection, _: &mut Vec<Event>) -> End {
        if !connection.open {
            End::Broken(Failure::connect("closed before it could be used"))
        } else if connection.in_flight.is_empty() && connection.reader.is_between() {
            End::Proper
        } else {
            CUT
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owed;
    use crate::target::Target;

    #[test]
    fn pings_are_a_flood_once_too_many_pongs_wait() {
        let messages = Messages::new(2, 30);
        let target = Target::parse("ws://h/").expect("a target");
        let upgrade = [Upgrade::new(&target, &[], 1).expect("an upgrade")];
        let keys = vec![Keys::new(None, 0, 0, (0, 1))];
        let mut client = WebSocket::new(&upgrade, &messages, 2, keys, 0);
        let mut connection = client.begin(0, &mut Vec::new());
        connection.open = true;
        let mut recv = |pings: u32, taken: bool| {
            if taken {
                client.taken(&mut connection);
            }
            let bytes = b"\x89\x02hi".repeat(pings as usize);
            client.recv(&mut connection, &bytes, &mut Vec::new(), &mut Vec::new())
        };
        for _ in 0..3 {
            assert_eq!(recv(owed::MOST, true), Ok(()));
        }
        let why = "the server asks for more than 1000 replies and takes none";
        assert_eq!(recv(1, false), Err(End::Broken(Failure::read(why))));
    }

    #[test]
    fn frames_in_any_pieces_are_the_same() {
        let messages = Messages::new(2, 30);
        let target = Target::parse("ws://h/").expect("a target");
        let upgrade = [Upgrade::new(&target, &[], 1).expect("an upgrade")];
        let (first, second) = (messages.message(1), messages.message(2));
        // A ping stands between the messages, and one within the second.
        let parts = [
            &[0x82, 30],
            first,
            b"\x89\x02hi",
            &[0x02, 20],
            &second[..20],
        ];
        let more = [&b"\x89\x02ho"[..], &[0x80, 10], &second[20..]];
        let bytes = [parts.concat(), more.concat()].concat();
        for cut in 1..bytes.len() {
            let keys = vec![Keys::new(None, 0, 0, (0, 1))];
            let mut client = WebSocket::new(&upgrade, &messages, 2, keys, 0);
            let mut connection = client.begin(0, &mut Vec::new());
            connection.open = true;
            let (mut out, mut events) = (Vec::new(), Vec::new());
            for request in 0..2 {
                client
                    .send(&mut connection, request, 0, &mut out)
                    .expect("room");
            }
            for piece in [&bytes[..cut], &bytes[cut..]] {
                let received = client.recv(&mut connection, piece, &mut out, &mut events);
                received.expect("an echo");
            }
            let answers = events.iter().filter_map(|event| match event {
                Event::Answered(answer) => Some((answer.request, answer.bytes, answer.body)),
                _ => None,
            });
            let expected = [(0, 32, 30), (1, 34, 30)];
            assert_eq!(answers.collect::<Vec<_>>(), expected, "cut at {cut}");
        }
    }
}
