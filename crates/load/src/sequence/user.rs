//! A user: its place in the sequence, its values, and its cookies.

use super::capture::Capture;
use super::jar::Jar;
use super::take::Take;
use crate::protocol::{ExchangeId, Failure};

/// One user of a sequence.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// The next request; the first one if absent.
    next: Option<ExchangeId>,
    values: Vec<Vec<u8>>,
    jar: Option<Jar>,
}

impl User {
    /// A user at the beginning of a sequence with so many values.
    pub fn new(values: usize, cookies: bool) -> Self {
        User {
            next: None,
            values: vec![Vec::new(); values],
            jar: cookies.then(Jar::default),
        }
    }

    /// The next request of the sequence that begins with `first`.
    pub fn next(&self, first: ExchangeId) -> ExchangeId {
        self.next.unwrap_or(first)
    }

    /// Note that the request before `next` is sent.
    pub fn go_on(&mut self, next: ExchangeId) {
        self.next = Some(next);
    }

    /// Begin the sequence anew, without values and cookies.
    pub fn restart(&mut self) {
        self.next = None;
        self.values.iter_mut().for_each(Vec::clear);
        if let Some(jar) = &mut self.jar {
            jar.clear();
        }
    }

    /// The values by their numbers.
    pub fn values(&self) -> &[Vec<u8>] {
        &self.values
    }

    /// The value of the next request's `Cookie` header; empty without cookies.
    pub fn cookies(&self) -> &[u8] {
        self.jar.as_ref().map_or(&[], Jar::header)
    }

    /// Keep the cookies of an answer.
    pub fn keep_cookies(&mut self, capture: &Capture) {
        if let Some(jar) = &mut self.jar {
            jar.take(capture.fields(b"set-cookie"));
        }
    }

    /// Take the values of an answer.
    ///
    /// # Errors
    /// The failure of the first that it does not have.
    pub fn take(&mut self, takes: &[Take], status: u16, capture: &Capture) -> Result<(), Failure> {
        let mut takes = takes.iter();
        takes.try_for_each(|take| take.take(status, capture, &mut self.values))
    }
}
