//! Calls of length-delimited messages, as protobuf delimits them: a varint with the length of what
//! follows. Answers come in the order of the calls.

pub mod varint;

use std::collections::VecDeque;

use self::varint::Varint;
use crate::dialogue::{Dialogue, ReadHint};
use crate::oracle::{BodyCheck, Expectation};
use crate::protocol::{Answer, End, Event, Failure, RequestId};

/// What counts as the status of an answer.
const STATUS: u16 = 200;

/// Longest answer that is still read, in bytes: what protobuf allows.
const LONGEST: u64 = (1 << 31) - 1;

/// What is asked, and what the answers must be.
#[derive(Clone, Debug)]
pub struct Call {
    message: Vec<u8>,
    expect: Expectation,
}

impl Call {
    /// A call with `message`, delimited here.
    pub fn new(message: &[u8], expect: Expectation) -> Self {
        let mut delimited = Vec::new();
        varint::write(message.len() as u64, &mut delimited);
        delimited.extend_from_slice(message);
        Call {
            message: delimited,
            expect,
        }
    }
}

/// The calls of one thread.
#[derive(Debug)]
pub struct Proto<'a> {
    calls: &'a [Call],
    depth: usize,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    target: usize,
    asked: VecDeque<RequestId>,
    /// The answer's length as far as it is read.
    length: Varint,
    /// Bytes of the answer that are still to come, once its length is read.
    left: Option<u64>,
    /// Bytes of the answer so far, length included.
    bytes: u64,
    body_check: BodyCheck,
}

impl<'a> Proto<'a> {
    /// One of `calls` for each target; at most `depth` are in flight on each connection.
    pub fn new(calls: &'a [Call], depth: usize) -> Self {
        Proto { calls, depth }
    }

    fn answer(&self, connection: &mut Connection, request: RequestId) -> Event {
        let expect = &self.calls[connection.target].expect;
        let answer = Answer {
            request,
            status: STATUS,
            bytes: connection.bytes,
            failure: expect.judge(STATUS, &mut connection.body_check),
        };
        connection.asked.pop_front();
        connection.left = None;
        connection.length = Varint::default();
        connection.bytes = 0;
        connection.body_check.reset();
        Event::Answered(answer)
    }
}

impl Dialogue for Proto<'_> {
    type Connection = Connection;

    fn begin(&mut self, target: usize, _: &mut Vec<u8>) -> Connection {
        Connection {
            target,
            asked: VecDeque::new(),
            length: Varint::default(),
            left: None,
            bytes: 0,
            body_check: self.calls[target].expect.body_check(),
        }
    }

    fn room(&self, connection: &Connection) -> usize {
        self.depth - connection.asked.len()
    }

    fn send(
        &mut self,
        connection: &mut Connection,
        request: RequestId,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        connection.asked.push_back(request);
        out.extend_from_slice(&self.calls[connection.target].message);
        Ok(())
    }

    fn read_hint(&self, connection: &Connection) -> ReadHint {
        match connection
            .left
            .filter(|_| !connection.body_check.needs_bytes())
        {
            Some(left) => ReadHint::Discard(left as usize),
            None => ReadHint::Recv(usize::MAX),
        }
    }

    fn recv(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
        _: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let unasked = End::Broken(Failure::read("bytes that no call asked for"));
            let request = *connection.asked.front().ok_or(unasked)?;
            let fresh = connection.bytes == 0;
            let mut used = 0;
            while connection.left.is_none() && used < rest.len() {
                connection.left = connection.length.feed(rest[used]).map_err(End::Broken)?;
                used += 1;
            }
            if connection.left.is_some_and(|left| left > LONGEST) {
                return Err(End::Broken(Failure::read("an answer of 2 GiB or more")));
            }
            if let Some(left) = &mut connection.left {
                let here = (rest.len() - used).min(*left as usize);
                connection.body_check.update(&rest[used..used + here]);
                *left -= here as u64;
                used += here;
            }
            connection.bytes += used as u64;
            rest = &rest[used..];
            if connection.left == Some(0) {
                events.push(self.answer(connection, request));
            } else if fresh {
                events.push(Event::Begun(request));
            }
        }
        Ok(())
    }

    fn discard(
        &mut self,
        connection: &mut Connection,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let (Some(left), Some(request)) = (connection.left, connection.asked.front().copied())
        else {
            return Err(End::Broken(Failure::read("bytes that no call asked for")));
        };
        connection.left = Some(left - length as u64);
        connection.bytes += length as u64;
        connection.body_check.count(length as u64);
        if left == length as u64 {
            events.push(self.answer(connection, request));
        }
        Ok(())
    }

    fn recv_end(&mut self, connection: &mut Connection, _: &mut Vec<Event>) -> End {
        if connection.asked.is_empty() {
            End::Proper
        } else {
            End::Broken(Failure::read("closed before the answer was whole"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recv(lengths: &[usize], cuts: &[usize]) -> Result<Vec<Event>, End> {
        let calls = [Call::new(
            b"ask",
            Expectation {
                statuses: vec![200],
                ..Expectation::default()
            },
        )];
        let mut proto = Proto::new(&calls, lengths.len().max(1));
        let mut connection = proto.begin(0, &mut Vec::new());
        let (mut said, mut bytes) = (Vec::new(), Vec::new());
        for (id, length) in lengths.iter().enumerate() {
            proto.send(&mut connection, id, &mut said)?;
            varint::write(*length as u64, &mut bytes);
            bytes.resize(bytes.len() + length, b'x');
        }
        assert_eq!(said, b"\x03ask".repeat(lengths.len()));
        let (mut events, mut rest) = (Vec::new(), &bytes[..]);
        for cut in cuts.iter().copied().chain([usize::MAX]) {
            let (piece, later) = rest.split_at(cut.min(rest.len()));
            proto.recv(&mut connection, piece, &mut said, &mut events)?;
            rest = later;
        }
        assert_eq!(proto.recv_end(&mut connection, &mut events), End::Proper);
        Ok(events)
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(6), ..ProptestConfig::with_cases(64) })]

        #[test]
        fn answers_in_any_pieces_are_the_same(
            lengths in prop::collection::vec(0usize..400, 1..5), cuts in prop::collection::vec(1usize..200, 0..9),
        ) {
            let answers = |cuts: &[usize]| {
                let mut events = hear(&lengths, cuts).expect("proper answers");
                events.retain(|event| matches!(event, Event::Answered(_)));
                events
            };
            prop_assert_eq!(answers(&cuts).len(), lengths.len());
            prop_assert_eq!(answers(&cuts), answers(&[]));
        }
    }

    #[test]
    fn answers_without_end_or_call_are_refused() {
        let calls = [Call::new(b"", Expectation::default())];
        let mut proto = Proto::new(&calls, 1);
        let mut refused = |bytes: &[u8], ask: bool| {
            let mut connection = proto.begin(0, &mut Vec::new());
            if ask {
                proto.send(&mut connection, 0, &mut Vec::new()).unwrap();
            }
            proto
                .recv(&mut connection, bytes, &mut Vec::new(), &mut Vec::new())
                .is_err()
        };
        assert!(refused(&[0xff; 11], true));
        assert!(refused(&[0x80, 0x80, 0x80, 0x80, 0x08], true));
        assert!(refused(b"\x00", false));
        assert!(!refused(b"\x05ab", true));
    }
}
