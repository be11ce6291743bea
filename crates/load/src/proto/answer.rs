//! One answer: a varint with its length, then that many bytes.

use super::varint::Varint;
use crate::expectation::{BodyCheck, Expectation};
use crate::protocol::Failure;

/// Longest answer that is read, in bytes: protobuf's limit.
const LONGEST: u64 = (1 << 31) - 1;

/// The failure of bytes that belong to no call.
pub const UNASKED: Failure = Failure::read("bytes without a call in flight");

/// The reader of one answer after another on one connection.
#[derive(Debug)]
pub struct AnswerReader {
    /// The length, as far as it has come.
    length: Varint,
    /// Bytes of the body that are still to come, once the length is read.
    left: Option<u64>,
    bytes: u64,
    body_check: BodyCheck,
}

impl AnswerReader {
    /// A reader whose bodies are judged by `expect`.
    pub fn new(expect: &Expectation) -> Self {
        AnswerReader {
            length: Varint::default(),
            left: None,
            bytes: 0,
            body_check: expect.body_check(),
        }
    }

    /// Take the next bytes; `Some(n)` when the answer is whole after `n` of them.
    ///
    /// # Errors
    /// For a length of more than 64 bits, or above 2 GiB.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        let mut used = 0;
        while self.left.is_none() && used < bytes.len() {
            self.left = self.length.feed(bytes[used])?;
            used += 1;
        }
        if self.left.is_some_and(|left| left > LONGEST) {
            return Err(Failure::read("an answer of 2 GiB or more"));
        }
        if let Some(left) = &mut self.left {
            let here = (bytes.len() - used).min(*left as usize);
            self.body_check.update(&bytes[used..used + here]);
            *left -= here as u64;
            used += here;
        }
        self.bytes += used as u64;
        Ok((self.left == Some(0)).then_some(used))
    }

    /// Bytes of the body that are still to come, if only their number matters.
    pub fn unread(&self) -> Option<usize> {
        let left = self.left.filter(|_| !self.body_check.needs_bytes());
        left.map(|left| left as usize)
    }

    /// Go on as if `length` bytes of the body had been fed; returns as [`AnswerReader::feed`] does.
    ///
    /// # Errors
    /// When no answer is under way.
    pub fn skip(&mut self, length: usize) -> Result<Option<usize>, Failure> {
        let left = self.left.ok_or(UNASKED)?;
        self.left = Some(left - length as u64);
        self.bytes += length as u64;
        self.body_check.count(length as u64);
        Ok((left == length as u64).then_some(length))
    }

    /// Bytes of the answer so far, length included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The check of the body so far.
    pub fn body_check(&mut self) -> &mut BodyCheck {
        &mut self.body_check
    }

    /// Make ready for the next answer.
    pub fn reset(&mut self) {
        self.length = Varint::default();
        self.left = None;
        self.bytes = 0;
        self.body_check.reset();
    }
}
