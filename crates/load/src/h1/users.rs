//! Users that send a sequence of requests, each on a connection of its own.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;
use std::rc::Rc;

use super::reading::{self, CUT, Reading, UNASKED};
use super::response::Response;
use super::valued::Valued;
use crate::cache_header::CacheHeader;
use crate::dialogue::ReadHint;
use crate::expectation::{Exchange, Expectation};
use crate::keys::Keys;
use crate::pipeline::InOrder;
use crate::protocol::{Answer, ExchangeId, Failure, RequestId};
use crate::sequence::capture::Capture;
use crate::sequence::take::Take;
use crate::sequence::user::User;

/// One request of a sequence.
#[derive(Clone, Debug)]
pub struct Step {
    /// The request, and its expected answer.
    pub exchange: Exchange<Valued>,
    /// The values to take from the answer.
    pub takes: Vec<Take>,
    /// The request after it: the first one after the last.
    pub next: ExchangeId,
}

/// The sequences of all targets.
#[derive(Clone, Debug, Default)]
pub struct Sequences {
    /// Their requests, those of each target together.
    pub steps: Vec<Step>,
    /// Values of a user.
    pub values: usize,
    /// True if users keep cookies.
    pub cookies: bool,
}

/// The users of one target that have no connection, the longest without one first.
type Pool = Rc<RefCell<VecDeque<User>>>;

/// HTTP/1.1 of users, as one thread speaks it.
#[derive(Debug)]
pub struct Users<'a> {
    sequences: &'a Sequences,
    reading: Reading,
    /// By target.
    pools: Vec<Pool>,
    /// By target.
    keys: Vec<Keys>,
}

/// A user on its connection, which it outlives.
#[derive(Debug)]
pub struct Turn {
    user: User,
    response: Response,
    /// True while an answer is awaited that has values.
    owed: bool,
    pool: Pool,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.owed {
            self.user.restart();
        }
        let user = mem::take(&mut self.user);
        self.pool.borrow_mut().push_back(user);
    }
}

impl<'a> Users<'a> {
    /// A thread's own state for the common `sequences`.
    pub fn new(sequences: &'a Sequences, keys: Vec<Keys>) -> Self {
        Users {
            sequences,
            reading: Reading::default(),
            pools: keys.iter().map(|_| Pool::default()).collect(),
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

    fn step(&self, exchange: ExchangeId) -> &'a Step {
        &self.sequences.steps[exchange as usize]
    }
}

impl InOrder for Users<'_> {
    type Reader = Turn;
    type Sent = ExchangeId;

    const UNASKED: Failure = UNASKED;
    const CUT: Failure = CUT;
    const EXCESS_SPOILS: bool = true;

    fn reader(&mut self, target: usize) -> Turn {
        let pool = self.pools[target].clone();
        let Sequences {
            values, cookies, ..
        } = *self.sequences;
        let known = pool.borrow_mut().pop_front();
        Turn {
            user: known.unwrap_or_else(|| User::new(values, cookies)),
            response: Response::new(&Expectation::default()),
            owed: false,
            pool,
        }
    }

    /// Append the user's next request; `first` is the first of the sequence.
    fn write(
        &mut self,
        target: usize,
        first: ExchangeId,
        turn: &mut Turn,
        out: &mut Vec<u8>,
    ) -> ExchangeId {
        let exchange = turn.user.next(first);
        let step = self.step(exchange);
        let request = &step.exchange.request;
        request.write(&turn.user, &mut self.keys[target], out);
        turn.user.go_on(step.next);
        turn.owed = !step.takes.is_empty();
        exchange
    }

    fn read(
        &mut self,
        turn: &mut Turn,
        exchange: ExchangeId,
        bytes: &[u8],
    ) -> Result<Option<usize>, Failure> {
        let exchange = &self.step(exchange).exchange;
        self.reading.read(&mut turn.response, exchange, bytes)
    }

    fn is_fresh(turn: &Turn) -> bool {
        turn.response.bytes() == 0
    }

    fn answer(&self, exchange: ExchangeId, request: RequestId, turn: &mut Turn) -> Answer {
        let Turn { user, response, .. } = turn;
        let step = self.step(exchange);
        let mut answer = reading::answer(&step.exchange.expect, request, response);
        // Without one, only the status is taken, if anything.
        let nothing = Capture::default();
        let capture = response.body_check().capture().unwrap_or(&nothing);
        user.keep_cookies(capture);
        if answer.failure.is_none() {
            answer.failure = user.take(&step.takes, answer.status, capture).err();
        }
        if answer.failure.is_some() && !step.takes.is_empty() {
            user.restart();
        }
        turn.owed = false;
        turn.response.reset();
        answer
    }

    fn read_hint(&self, turn: &Turn, in_flight: usize, depth: usize) -> ReadHint {
        reading::hint(&turn.response, in_flight, depth)
    }

    fn skip(&mut self, turn: &mut Turn, length: usize) -> Result<Option<usize>, Failure> {
        reading::skip(&mut turn.response, length)
    }

    fn is_last(turn: &Turn) -> bool {
        !turn.response.keep_alive()
    }

    fn ends_by_close(turn: &Turn) -> bool {
        turn.response.ends_by_close()
    }
}
