//! Users that send a sequence of requests, each on a connection of its own.

use super::reading::{self, CUT, Reading, UNASKED};
use super::response::Response;
use super::valued::Valued;
use crate::cache_header::CacheHeader;
use crate::crowd::turn::{Crowd, Sequences, Turn};
use crate::dialogue::ReadHint;
use crate::expectation::{Exchange, Expectation};
use crate::keys::Keys;
use crate::pipeline::InOrder;
use crate::protocol::{Answer, ExchangeId, Failure, RequestId};

/// HTTP/1.1 of users, as one thread speaks it.
#[derive(Debug)]
pub struct Users<'a> {
    exchanges: &'a [Exchange<Valued>],
    crowd: Crowd<'a>,
    reading: Reading,
    /// By target.
    keys: Vec<Keys>,
}

/// A user on its connection.
#[derive(Debug)]
pub struct Seat {
    turn: Turn,
    response: Response,
}

impl<'a> Users<'a> {
    /// A thread's own state for the common `sequences`.
    pub fn new(sequences: &'a Sequences<Valued>, keys: Vec<Keys>) -> Self {
        Users {
            exchanges: &sequences.exchanges,
            crowd: Crowd::new(sequences, keys.len()),
            reading: Reading::default(),
            keys,
        }
    }

    /// The same, with answers that have a header about a cache.
    pub fn with_cache_header(self, cache: &CacheHeader) -> Self {
        Users {
            reading: self.reading.with_cache_header(cache),
            ..self
        }
    }
}

impl InOrder for Users<'_> {
    type Reader = Seat;
    type Sent = ExchangeId;

    const UNASKED: Failure = UNASKED;
    const CUT: Failure = CUT;
    const EXCESS_SPOILS: bool = true;

    fn reader(&mut self, target: usize) -> Seat {
        Seat {
            turn: self.crowd.turn(target),
            response: Response::new(&Expectation::default()),
        }
    }

    /// Append the user's next request; `first` is the first of the sequence.
    fn write(
        &mut self,
        target: usize,
        first: ExchangeId,
        seat: &mut Seat,
        out: &mut Vec<u8>,
    ) -> ExchangeId {
        let exchange = seat.turn.next(first);
        let request = &self.exchanges[exchange as usize].request;
        request.write(seat.turn.user(), &mut self.keys[target], out);
        seat.turn.sent(&self.crowd.steps()[exchange as usize]);
        exchange
    }

    fn read(
        &mut self,
        seat: &mut Seat,
        exchange: ExchangeId,
        bytes: &[u8],
    ) -> Result<Option<usize>, Failure> {
        let exchange = &self.exchanges[exchange as usize];
        self.reading.read(&mut seat.response, exchange, bytes)
    }

    fn is_fresh(seat: &Seat) -> bool {
        seat.response.bytes() == 0
    }

    fn answer(&self, exchange: ExchangeId, request: RequestId, seat: &mut Seat) -> Answer {
        let Seat { turn, response } = seat;
        let expect = &self.exchanges[exchange as usize].expect;
        let step = &self.crowd.steps()[exchange as usize];
        let mut answer = reading::answer(expect, request, response);
        let body_check = response.body_check();
        answer.failure = turn.answered(step, answer.status, answer.failure, body_check);
        response.reset();
        answer
    }

    fn read_hint(&self, seat: &Seat, in_flight: usize, depth: usize) -> ReadHint {
        reading::hint(&seat.response, in_flight, depth)
    }

    fn skip(&mut self, seat: &mut Seat, length: usize) -> Result<Option<usize>, Failure> {
        reading::skip(&mut seat.response, length)
    }

    fn is_last(seat: &Seat) -> bool {
        !seat.response.keep_alive()
    }

    fn ends_by_close(seat: &Seat) -> bool {
        seat.response.ends_by_close()
    }
}
