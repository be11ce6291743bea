//! Calls of length-delimited messages, as protobuf delimits them: a varint with the length of what
//! follows. Answers come in the order of the calls.

pub mod varint;

use std::collections::VecDeque;

use self::varint::Varint;
use crate::dialogue::{Appetite, Dialogue};
use crate::oracle::{Expectation, Witness};
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
pub struct Talk {
    target: usize,
    asked: VecDeque<RequestId>,
    /// The answer's length as far as it is read.
    length: Varint,
    /// Bytes of the answer that are still to come, once its length is read.
    left: Option<u64>,
    /// Bytes of the answer so far, length included.
    bytes: u64,
    witness: Witness,
}

impl<'a> Proto<'a> {
    /// One of `calls` for each target; at most `depth` are in flight on each connection.
    pub fn new(calls: &'a [Call], depth: usize) -> Self {
        Proto { calls, depth }
    }

    fn answer(&self, talk: &mut Talk, request: RequestId) -> Event {
        let expect = &self.calls[talk.target].expect;
        let answer = Answer {
            request,
            status: STATUS,
            bytes: talk.bytes,
            failure: expect.judge(STATUS, &mut talk.witness),
        };
        talk.asked.pop_front();
        talk.left = None;
        talk.length = Varint::default();
        talk.bytes = 0;
        talk.witness.reset();
        Event::Answered(answer)
    }
}

impl Dialogue for Proto<'_> {
    type Talk = Talk;

    fn begin(&mut self, target: usize, _: &mut Vec<u8>) -> Talk {
        Talk {
            target,
            asked: VecDeque::new(),
            length: Varint::default(),
            left: None,
            bytes: 0,
            witness: self.calls[target].expect.witness(),
        }
    }

    fn room(&self, talk: &Talk) -> usize {
        self.depth - talk.asked.len()
    }

    fn ask(&mut self, talk: &mut Talk, request: RequestId, out: &mut Vec<u8>) -> Result<(), End> {
        talk.asked.push_back(request);
        out.extend_from_slice(&self.calls[talk.target].message);
        Ok(())
    }

    fn appetite(&self, talk: &Talk) -> Appetite {
        match talk.left.filter(|_| !talk.witness.looks()) {
            Some(left) => Appetite::Discard(left as usize),
            None => Appetite::Hear(usize::MAX),
        }
    }

    fn hear(
        &mut self,
        talk: &mut Talk,
        bytes: &[u8],
        _: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let unasked = End::Broken(Failure::read("bytes that no call asked for"));
            let request = *talk.asked.front().ok_or(unasked)?;
            let fresh = talk.bytes == 0;
            let mut used = 0;
            while talk.left.is_none() && used < rest.len() {
                talk.left = talk.length.feed(rest[used]).map_err(End::Broken)?;
                used += 1;
            }
            if talk.left.is_some_and(|left| left > LONGEST) {
                return Err(End::Broken(Failure::read("an answer of 2 GiB or more")));
            }
            if let Some(left) = &mut talk.left {
                let here = (rest.len() - used).min(*left as usize);
                talk.witness.see(&rest[used..used + here]);
                *left -= here as u64;
                used += here;
            }
            talk.bytes += used as u64;
            rest = &rest[used..];
            if talk.left == Some(0) {
                events.push(self.answer(talk, request));
            } else if fresh {
                events.push(Event::Begun(request));
            }
        }
        Ok(())
    }

    fn discard(
        &mut self,
        talk: &mut Talk,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let (Some(left), Some(request)) = (talk.left, talk.asked.front().copied()) else {
            return Err(End::Broken(Failure::read("bytes that no call asked for")));
        };
        talk.left = Some(left - length as u64);
        talk.bytes += length as u64;
        talk.witness.count(length as u64);
        if left == length as u64 {
            events.push(self.answer(talk, request));
        }
        Ok(())
    }

    fn hear_end(&mut self, talk: &mut Talk, _: &mut Vec<Event>) -> End {
        if talk.asked.is_empty() {
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

    fn hear(lengths: &[usize], cuts: &[usize]) -> Result<Vec<Event>, End> {
        let calls = [Call::new(
            b"ask",
            Expectation {
                statuses: vec![200],
                ..Expectation::default()
            },
        )];
        let mut proto = Proto::new(&calls, lengths.len().max(1));
        let mut talk = proto.begin(0, &mut Vec::new());
        let (mut said, mut bytes) = (Vec::new(), Vec::new());
        for (id, length) in lengths.iter().enumerate() {
            proto.ask(&mut talk, id, &mut said)?;
            varint::write(*length as u64, &mut bytes);
            bytes.resize(bytes.len() + length, b'x');
        }
        assert_eq!(said, b"\x03ask".repeat(lengths.len()));
        let (mut events, mut rest) = (Vec::new(), &bytes[..]);
        for cut in cuts.iter().copied().chain([usize::MAX]) {
            let (piece, later) = rest.split_at(cut.min(rest.len()));
            proto.hear(&mut talk, piece, &mut said, &mut events)?;
            rest = later;
        }
        assert_eq!(proto.hear_end(&mut talk, &mut events), End::Proper);
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
            let mut talk = proto.begin(0, &mut Vec::new());
            if ask {
                proto.ask(&mut talk, 0, &mut Vec::new()).unwrap();
            }
            proto
                .hear(&mut talk, bytes, &mut Vec::new(), &mut Vec::new())
                .is_err()
        };
        assert!(refused(&[0xff; 11], true));
        assert!(refused(&[0x80, 0x80, 0x80, 0x80, 0x08], true));
        assert!(refused(b"\x00", false));
        assert!(!refused(b"\x05ab", true));
    }
}
