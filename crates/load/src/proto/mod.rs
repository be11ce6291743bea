//! Calls of length-delimited messages, as protobuf delimits them: a varint with the length of what
//! follows. Answers come in the order of the calls.

mod answer;
pub mod varint;

use self::answer::{AnswerReader, UNASKED};
use crate::dialogue::ReadHint;
use crate::expectation::Expectation;
use crate::pipeline::InOrder;
use crate::protocol::{Answer, ExchangeId, Failure, RequestId};

/// The status that every answer counts as.
const STATUS: u16 = 200;

/// A message, and its expected answer.
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

/// The calls of one thread, by their exchange.
#[derive(Debug)]
pub struct Proto<'a>(pub &'a [Call]);

impl InOrder for Proto<'_> {
    type Reader = AnswerReader;
    type Sent = ExchangeId;

    const UNASKED: Failure = UNASKED;
    const CUT: Failure = Failure::read("closed before the answer was whole");

    fn reader(&mut self, _: usize) -> AnswerReader {
        AnswerReader::new(&Expectation::default())
    }

    fn write(
        &mut self,
        _: usize,
        exchange: ExchangeId,
        _: &mut AnswerReader,
        out: &mut Vec<u8>,
    ) -> ExchangeId {
        out.extend_from_slice(&self.0[exchange as usize].message);
        exchange
    }

    fn read(
        &mut self,
        reader: &mut AnswerReader,
        exchange: ExchangeId,
        bytes: &[u8],
    ) -> Result<Option<usize>, Failure> {
        if Self::is_fresh(reader) {
            let expect = &self.0[exchange as usize].expect;
            reader.body_check().begin(expect);
        }
        reader.feed(bytes)
    }

    fn is_fresh(reader: &AnswerReader) -> bool {
        reader.bytes() == 0
    }

    fn answer(
        &self,
        exchange: ExchangeId,
        request: RequestId,
        reader: &mut AnswerReader,
    ) -> Answer {
        let expect = &self.0[exchange as usize].expect;
        let answer = Answer {
            request,
            status: STATUS,
            bytes: reader.bytes(),
            body: reader.body_check().length(),
            hit: None,
            failure: expect.judge(STATUS, reader.body_check()),
            end: 0,
        };
        reader.reset();
        answer
    }

    fn read_hint(&self, reader: &AnswerReader, _: usize, _: usize) -> ReadHint {
        let unread = reader.unread();
        unread.map_or(ReadHint::Recv(usize::MAX), ReadHint::Discard)
    }

    fn skip(&mut self, reader: &mut AnswerReader, length: usize) -> Result<Option<usize>, Failure> {
        reader.skip(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogue::Dialogue;
    use crate::pipeline::Pipeline;
    use crate::protocol::{End, Event};
    use proptest::prelude::*;

    fn received(lengths: &[usize], cuts: &[usize]) -> Result<Vec<Event>, End> {
        let calls = [Call::new(
            b"call",
            Expectation {
                statuses: vec![200],
                ..Expectation::default()
            },
        )];
        let mut proto = Pipeline::new(Proto(&calls), lengths.len().max(1));
        let mut connection = proto.begin(0, &mut Vec::new());
        let (mut sent, mut bytes) = (Vec::new(), Vec::new());
        for (id, length) in lengths.iter().enumerate() {
            proto.send(&mut connection, id, 0, &mut sent)?;
            varint::write(*length as u64, &mut bytes);
            bytes.resize(bytes.len() + length, b'x');
        }
        assert_eq!(sent, b"\x04call".repeat(lengths.len()));
        let (mut events, mut rest) = (Vec::new(), &bytes[..]);
        for cut in cuts.iter().copied().chain([usize::MAX]) {
            let (piece, later) = rest.split_at(cut.min(rest.len()));
            proto.recv(&mut connection, piece, &mut sent, &mut events)?;
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
                let mut events = received(&lengths, cuts).expect("proper answers");
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
        let mut proto = Pipeline::new(Proto(&calls), 1);
        let mut refused = |bytes: &[u8], called: bool| {
            let mut connection = proto.begin(0, &mut Vec::new());
            if called {
                proto.send(&mut connection, 0, 0, &mut Vec::new()).unwrap();
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
