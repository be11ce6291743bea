//! A stream that comes back: every byte is compared.

use crate::answers::Keeper;
use crate::pipeline::InOrder;
use crate::protocol::{Answer, ExchangeId, Failure, Kind, RequestId};
use crate::random;

/// Messages begin so far apart at most in the bytes that they are all cut from.
const SPREAD: usize = 4096;

/// The status that an exact echo counts as.
const STATUS: u16 = 200;

/// The failure of an echo that is not exact.
pub const DIFFERS: Failure = Failure {
    kind: Kind::Body,
    why: "the bytes that came back differ from those sent",
};

/// The bytes of all messages: each is another cut, so that a crossed or repeated echo is detected.
#[derive(Clone, Debug)]
pub struct Messages {
    bytes: Vec<u8>,
    size: usize,
    keeper: Option<Keeper>,
}

impl Messages {
    /// Messages of `size` bytes, at least one.
    pub fn new(seed: u64, size: usize) -> Self {
        Messages {
            bytes: random::bytes(seed, size + SPREAD),
            size,
            keeper: None,
        }
    }

    /// The same, whose echo is kept if there is a keeper.
    pub fn kept_by(self, keeper: Option<Keeper>) -> Self {
        Messages { keeper, ..self }
    }

    /// Keep what came back for the message of this number, if it is kept: its first `received` bytes
    /// as they were sent, then `piece`.
    pub fn keep(&self, number: usize, received: usize, piece: &[u8]) {
        if let Some(keeper) = &self.keeper {
            let sent = self.message(number);
            keeper.keep_echo(STATUS, sent, [&sent[..received], piece]);
        }
    }

    /// Bytes of each message.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The message of this number.
    pub fn message(&self, number: usize) -> &[u8] {
        // An odd step below the spread visits all cuts before one comes again.
        let start = number.wrapping_mul(1237) % SPREAD;
        &self.bytes[start..start + self.size]
    }
}

/// Echo as one thread speaks it.
#[derive(Debug)]
pub struct Echo<'a> {
    messages: &'a Messages,
    /// Messages of all connections so far.
    number: usize,
}

impl<'a> Echo<'a> {
    /// An echo of `messages`. Threads differ in their first `number`.
    pub fn new(messages: &'a Messages, number: usize) -> Self {
        Echo { messages, number }
    }
}

impl InOrder for Echo<'_> {
    /// Bytes of the first message in flight that have come back.
    type Reader = usize;
    /// The message's number.
    type Sent = usize;

    const UNASKED: Failure = DIFFERS;
    const CUT: Failure = Failure::read("closed before all bytes came back");

    fn reader(&mut self, _: usize) -> usize {
        0
    }

    fn write(&mut self, _: usize, _: ExchangeId, _: &mut usize, out: &mut Vec<u8>) -> usize {
        self.number = self.number.wrapping_add(1);
        out.extend_from_slice(self.messages.message(self.number));
        self.number
    }

    fn read(
        &mut self,
        received: &mut usize,
        number: usize,
        bytes: &[u8],
    ) -> Result<Option<usize>, Failure> {
        let expected = &self.messages.message(number)[*received..];
        let here = expected.len().min(bytes.len());
        if bytes[..here] != expected[..here] {
            self.messages.keep(number, *received, &bytes[..here]);
            return Err(DIFFERS);
        }
        *received += here;
        Ok((here == expected.len()).then_some(here))
    }

    fn is_fresh(received: &usize) -> bool {
        *received == 0
    }

    fn answer(&self, number: usize, request: RequestId, received: &mut usize) -> Answer {
        self.messages.keep(number, *received, &[]);
        *received = 0;
        Answer {
            request,
            status: STATUS,
            body: self.messages.size as u64,
            hit: None,
            bytes: self.messages.size as u64,
            failure: None,
            end: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogue::Dialogue;
    use crate::pipeline::Pipeline;
    use crate::protocol::{End, Event};
    use proptest::prelude::*;

    fn answered(events: &[Event]) -> usize {
        let answers = events
            .iter()
            .filter(|event| matches!(event, Event::Answered(_)));
        answers.count()
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(4), ..ProptestConfig::with_cases(64) })]

        #[test]
        fn an_echo_in_any_pieces_is_whole_and_a_changed_byte_is_seen(
            size in 1usize..300, depth in 1usize..5, cuts in prop::collection::vec(1usize..200, 1..9), wrong: prop::sample::Index,
        ) {
            let messages = Messages::new(9, size);
            let received = |sent: &[u8]| {
                let mut echo = Pipeline::new(Echo::new(&messages, 0), depth);
                let mut connection = echo.begin(0, &mut Vec::new());
                let mut sink = Vec::new();
                (0..depth).for_each(|id| echo.send(&mut connection, id, 0, &mut sink).unwrap());
                let (mut events, mut rest) = (Vec::new(), sent);
                for cut in cuts.iter().copied().chain([usize::MAX]) {
                    let (piece, later) = rest.split_at(cut.min(rest.len()));
                    echo.recv(&mut connection, piece, &mut Vec::new(), &mut events)?;
                    rest = later;
                }
                Ok::<usize, End>(answered(&events))
            };
            let mut echo = Pipeline::new(Echo::new(&messages, 0), depth);
            let mut connection = echo.begin(0, &mut Vec::new());
            let mut sent = Vec::new();
            (0..depth).for_each(|id| echo.send(&mut connection, id, 0, &mut sent).unwrap());
            prop_assert_eq!(received(&sent), Ok(depth));
            prop_assert_eq!(received(&[&sent[..], b"x"].concat()), Err(End::Broken(DIFFERS)));
            let changed = wrong.index(sent.len());
            sent[changed] ^= 1;
            prop_assert_eq!(received(&sent), Err(End::Broken(DIFFERS)));
        }
    }

    #[test]
    fn neighbours_differ() {
        let messages = Messages::new(1, 64);
        assert!((0..SPREAD).all(|number| messages.message(number) != messages.message(number + 1)));
    }
}
