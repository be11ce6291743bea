//! The expected answer, and the check of an answer against it.

use sha2::{Digest, Sha256};

use crate::answers::{Draft, Keeper};
use crate::protocol::{Failure, Kind};
use crate::sequence::capture::{Capture, Wants};

const WRONG_STATUS: Failure = Failure {
    kind: Kind::Status,
    why: "unexpected status",
};
const WRONG_LENGTH: Failure = Failure {
    kind: Kind::Body,
    why: "unexpected body length",
};
const WRONG_HASH: Failure = Failure {
    kind: Kind::Body,
    why: "unexpected body",
};

/// A request, and its expected answer.
#[derive(Clone, Debug)]
pub struct Exchange<R> {
    /// The request as it is sent.
    pub request: R,
    /// True if the answer has no body whatever its head says: that to a HEAD request.
    pub bodiless: bool,
    /// True for a call of gRPC, whose answer has messages in its body and a status behind it.
    pub grpc: bool,
    /// The properties of a correct answer.
    pub expect: Expectation,
}

/// The properties of a correct answer.
#[derive(Clone, Debug, Default)]
pub struct Expectation {
    /// The statuses that are correct.
    pub statuses: Vec<u16>,
    /// The body's length in bytes, if it matters.
    pub body_length: Option<u64>,
    /// The body's SHA-256, if it matters.
    pub body_sha256: Option<[u8; 32]>,
    /// The place where the answer is kept, if it is; any answer is then correct.
    pub keeper: Option<Keeper>,
    /// The parts of the answer from which values are taken.
    pub wants: Wants,
}

impl Expectation {
    /// A fresh check of one body.
    pub fn body_check(&self) -> BodyCheck {
        BodyCheck {
            length: 0,
            hash: self.body_sha256.map(|_| Sha256::new()),
            draft: self.keeper.as_ref().map(|_| Box::default()),
            capture: None,
        }
    }

    /// The failure of an answer with this `status` and body, if it is not correct.
    pub fn judge(&self, status: u16, body_check: &mut BodyCheck) -> Option<Failure> {
        if let (Some(keeper), Some(draft)) = (&self.keeper, &body_check.draft) {
            keeper.keep(status, draft);
            return None;
        }
        if !self.statuses.contains(&status) {
            return Some(WRONG_STATUS);
        }
        if self
            .body_length
            .is_some_and(|want| want != body_check.length)
        {
            return Some(WRONG_LENGTH);
        }
        let hash = body_check.hash.as_mut().map(Sha256::finalize_reset);
        let same = hash.map(|hash| hash[..] == self.body_sha256.unwrap_or_default());
        (same == Some(false)).then_some(WRONG_HASH)
    }
}

/// The length of one body, and its hash if the expectation has one.
#[derive(Clone, Debug)]
pub struct BodyCheck {
    length: u64,
    hash: Option<Sha256>,
    /// The whole answer, if it is kept.
    draft: Option<Box<Draft>>,
    /// The parts that values are taken from; absent until an answer has some.
    capture: Option<Box<Capture>>,
}

impl BodyCheck {
    /// Take the next bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        if let Some(draft) = &mut self.draft {
            draft.body(bytes);
        }
        if let Some(capture) = &mut self.capture {
            capture.take_body(bytes);
        }
    }

    /// Take the whole head.
    pub fn head(&mut self, head: &[u8]) {
        if let Some(capture) = &mut self.capture {
            capture.take_head(head);
        }
    }

    /// Take a field of a head that is no text.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        if let Some(capture) = &mut self.capture {
            capture.take_field(name, value);
        }
    }

    /// The parts that values are taken from, if there are any.
    pub fn capture(&self) -> Option<&Capture> {
        self.capture.as_deref()
    }

    /// The answer as it has come so far, if it is kept.
    pub fn draft(&mut self) -> Option<&mut Draft> {
        self.draft.as_deref_mut()
    }

    /// Return true if the check needs the bytes, and not only their number.
    pub fn needs_bytes(&self) -> bool {
        let captured = self.capture.as_ref();
        self.hash.is_some()
            || self.draft.is_some()
            || captured.is_some_and(|capture| capture.wants_body())
    }

    /// Count bytes whose content does not matter.
    pub fn count(&mut self, bytes: u64) {
        self.length += bytes;
    }

    /// Start afresh for the next body, to be judged by `expect`.
    pub fn begin(&mut self, expect: &Expectation) {
        let same = self.hash.is_some() == expect.body_sha256.is_some();
        if same && self.draft.is_some() == expect.keeper.is_some() {
            self.reset();
        } else {
            *self = BodyCheck {
                capture: self.capture.take(),
                ..expect.body_check()
            };
        }
        if let Some(capture) = &mut self.capture {
            capture.begin(expect.wants);
        } else if expect.wants != Wants::default() {
            self.capture.get_or_insert_default().begin(expect.wants);
        }
    }

    /// Start afresh for the next body, to be judged by the same expectation.
    pub fn reset(&mut self) {
        self.length = 0;
        if let Some(hash) = &mut self.hash {
            hash.reset();
        }
        if let Some(draft) = &mut self.draft {
            **draft = Draft::default();
        }
        if let Some(capture) = &mut self.capture {
            capture.reset();
        }
    }

    /// The body's length so far, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(expect: &Expectation, status: u16, body: &[u8]) -> Option<Failure> {
        let mut body_check = expect.body_check();
        body_check.update(body);
        expect.judge(status, &mut body_check)
    }

    #[test]
    fn status_goes_before_body() {
        let expect = Expectation {
            statuses: vec![200, 204],
            body_length: Some(2),
            ..Expectation::default()
        };
        assert_eq!(judge(&expect, 200, b"ok"), None);
        assert_eq!(judge(&expect, 204, b"ok"), None);
        assert_eq!(judge(&expect, 500, b"no!"), Some(WRONG_STATUS));
        assert_eq!(judge(&expect, 200, b"no!"), Some(WRONG_LENGTH));
    }

    #[test]
    fn hash_is_of_the_whole_body_and_starts_anew() {
        let expect = Expectation {
            statuses: vec![200],
            body_sha256: Some(Sha256::digest(b"hello").into()),
            ..Expectation::default()
        };
        let mut body_check = expect.body_check();
        for _ in 0..2 {
            body_check.reset();
            body_check.update(b"he");
            body_check.update(b"llo");
            assert_eq!(expect.judge(200, &mut body_check), None);
        }
        assert_eq!(judge(&expect, 200, b"hallo"), Some(WRONG_HASH));
    }
}
