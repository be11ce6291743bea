//! Users at work: each on a connection, or in a stream of one, which it outlives.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;
use std::rc::Rc;

use crate::expectation::{BodyCheck, Exchange};
use crate::protocol::{ExchangeId, Failure};
use crate::sequence::capture::Capture;
use crate::sequence::take::Take;
use crate::sequence::user::User;

/// A request of a sequence, as the users go through it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The values to take from the answer.
    pub takes: Vec<Take>,
    /// The request after it: the first one after the last.
    pub next: ExchangeId,
}

/// The sequences of all targets.
#[derive(Clone, Debug)]
pub struct Sequences<R> {
    /// Their requests, those of each target together.
    pub exchanges: Vec<Exchange<R>>,
    /// The step of each.
    pub steps: Vec<Step>,
    /// Values of a user.
    pub values: usize,
    /// True if users keep cookies.
    pub cookies: bool,
}

/// The users of one target that are not at work, the longest without work first.
type Pool = Rc<RefCell<VecDeque<User>>>;

/// The users of one thread.
#[derive(Debug)]
pub struct Crowd<'a> {
    steps: &'a [Step],
    values: usize,
    cookies: bool,
    /// By target.
    pools: Vec<Pool>,
}

impl<'a> Crowd<'a> {
    /// A thread's own users of the common `sequences`, on this number of targets.
    pub fn new<R>(sequences: &'a Sequences<R>, targets: usize) -> Self {
        Crowd {
            steps: &sequences.steps,
            values: sequences.values,
            cookies: sequences.cookies,
            pools: (0..targets).map(|_| Pool::default()).collect(),
        }
    }

    /// Let a user of `target` work: one that has been without work, or else a new one.
    pub fn turn(&self, target: usize) -> Turn {
        let pool = self.pools[target].clone();
        let known = pool.borrow_mut().pop_front();
        Turn {
            user: known.unwrap_or_else(|| User::new(self.values, self.cookies)),
            owed: false,
            pool,
        }
    }

    /// All steps, by exchange.
    pub fn steps(&self) -> &'a [Step] {
        self.steps
    }
}

/// A user at work.
#[derive(Debug)]
pub struct Turn {
    user: User,
    /// True while an answer is awaited that has values.
    owed: bool,
    pool: Pool,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.lost();
        let user = mem::take(&mut self.user);
        self.pool.borrow_mut().push_back(user);
    }
}

impl Turn {
    /// The user, with its values and cookies.
    pub fn user(&self) -> &User {
        &self.user
    }

    /// The user's next request in the sequence that begins with `first`.
    pub fn next(&self, first: ExchangeId) -> ExchangeId {
        self.user.next(first)
    }

    /// Note that the request of `step` is sent.
    pub fn sent(&mut self, step: &Step) {
        self.user.go_on(step.next);
        self.owed = !step.takes.is_empty();
    }

    /// Take the values and cookies of the whole answer to the request of `step`; return its
    /// failure, which may be that it lacks a value.
    pub fn answered(
        &mut self,
        step: &Step,
        status: u16,
        failure: Option<Failure>,
        body_check: &BodyCheck,
    ) -> Option<Failure> {
        // Without one, only the status is taken, if anything.
        let nothing = Capture::default();
        let capture = body_check.capture().unwrap_or(&nothing);
        self.user.keep_cookies(capture);
        let failure = failure.or_else(|| self.user.take(&step.takes, status, capture).err());
        if failure.is_none() {
            self.owed = false;
        }
        self.lost();
        failure
    }

    /// Note that `exchange` was not processed, as the server says: the user sends it again.
    pub fn refused(&mut self, exchange: ExchangeId) {
        self.user.go_on(exchange);
        self.owed = false;
    }

    /// Note that no answer comes any more: values that it owed are missing.
    pub fn lost(&mut self) {
        if mem::take(&mut self.owed) {
            self.user.restart();
        }
    }
}
