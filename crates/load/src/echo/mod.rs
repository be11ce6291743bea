//! A stream that comes back: every byte is compared.

use std::collections::VecDeque;

use crate::dialogue::{Dialogue, ReadHint};
use crate::protocol::{Answer, End, Event, Failure, Kind, RequestId};
use crate::random;

/// Messages begin so far apart at most in the bytes that they are all cut from.
const SPREAD: usize = 4096;

/// What counts as the status of an exact echo.
const STATUS: u16 = 200;

const DIFFERS: End = End::Broken(Failure {
    kind: Kind::Body,
    why: "other bytes came back than were sent",
});

/// The bytes of all messages: each is another cut, so that a crossed or repeated echo is seen.
#[derive(Clone, Debug)]
pub struct Messages {
    bytes: Vec<u8>,
    size: usize,
}

impl Messages {
    /// Messages of `size` bytes, at least one.
    pub fn new(seed: u64, size: usize) -> Self {
        Messages {
            bytes: random::bytes(seed, size + SPREAD),
            size,
        }
    }

    fn message(&self, number: usize) -> &[u8] {
        // An odd step below the spread visits all cuts before one comes again.
        let start = number.wrapping_mul(1237) % SPREAD;
        &self.bytes[start..start + self.size]
    }
}

/// Echo as one thread leads it.
#[derive(Debug)]
pub struct Echo<'a> {
    messages: &'a Messages,
    depth: usize,
    /// Messages of all connections so far.
    number: usize,
}

/// One connection.
#[derive(Debug, Default)]
pub struct Connection {
    /// The messages on their way, by their numbers.
    asked: VecDeque<(RequestId, usize)>,
    /// Bytes of the first of them that have come back.
    heard: usize,
}

impl<'a> Echo<'a> {
    /// At most `depth` of `messages` are on their way on each connection. Threads differ in their
    /// first `number`.
    pub fn new(messages: &'a Messages, depth: usize, number: usize) -> Self {
        Echo {
            messages,
            depth,
            number,
        }
    }
}

impl Dialogue for Echo<'_> {
    type Connection = Connection;

    fn begin(&mut self, _: usize, _: &mut Vec<u8>) -> Connection {
        Connection::default()
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
        self.number = self.number.wrapping_add(1);
        out.extend_from_slice(self.messages.message(self.number));
        connection.asked.push_back((request, self.number));
        Ok(())
    }

    fn read_hint(&self, _: &Connection) -> ReadHint {
        ReadHint::Recv(usize::MAX)
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
            let Some((request, number)) = connection.asked.front().copied() else {
                return Err(DIFFERS);
            };
            let expected = &self.messages.message(number)[connection.heard..];
            let here = expected.len().min(rest.len());
            if rest[..here] != expected[..here] {
                return Err(DIFFERS);
            }
            rest = &rest[here..];
            if here == expected.len() {
                connection.asked.pop_front();
                connection.heard = 0;
                events.push(Event::Answered(Answer {
                    request,
                    status: STATUS,
                    bytes: self.messages.size as u64,
                    failure: None,
                }));
            } else {
                if connection.heard == 0 {
                    events.push(Event::Begun(request));
                }
                connection.heard += here;
            }
        }
        Ok(())
    }

    fn recv_end(&mut self, connection: &mut Connection, _: &mut Vec<Event>) -> End {
        if connection.asked.is_empty() {
            End::Proper
        } else {
            End::Broken(Failure::read("closed before all bytes were back"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let hear = |said: &[u8]| {
                let mut echo = Echo::new(&messages, depth, 0);
                let mut connection = echo.begin(0, &mut Vec::new());
                let mut sink = Vec::new();
                (0..depth).for_each(|id| echo.send(&mut connection, id, &mut sink).unwrap());
                let (mut events, mut rest) = (Vec::new(), said);
                for cut in cuts.iter().copied().chain([usize::MAX]) {
                    let (piece, later) = rest.split_at(cut.min(rest.len()));
                    echo.recv(&mut connection, piece, &mut Vec::new(), &mut events)?;
                    rest = later;
                }
                Ok::<usize, End>(answered(&events))
            };
            let mut echo = Echo::new(&messages, depth, 0);
            let mut connection = echo.begin(0, &mut Vec::new());
            let mut said = Vec::new();
            (0..depth).for_each(|id| echo.send(&mut connection, id, &mut said).unwrap());
            prop_assert_eq!(hear(&said), Ok(depth));
            prop_assert_eq!(hear(&[&said[..], b"x"].concat()), Err(DIFFERS));
            let changed = wrong.index(said.len());
            said[changed] ^= 1;
            prop_assert_eq!(hear(&said), Err(DIFFERS));
        }
    }

    #[test]
    fn neighbours_differ() {
        let messages = Messages::new(1, 64);
        assert!((0..SPREAD).all(|number| messages.message(number) != messages.message(number + 1)));
    }
}
