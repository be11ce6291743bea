//! One response, read from pieces of any size.

use super::chunked::Chunked;
use super::head::{self, Framing, HeadReader};
use super::malformed::Malformed;
use crate::expectation::{BodyCheck, Expectation};

/// Longest head that is still read, interim responses included, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// The reader of one response after another on one connection.
#[derive(Debug)]
pub struct Response {
    at: At,
    /// The beginning of a head whose rest has not arrived.
    partial: Vec<u8>,
    /// Bytes of the heads read so far.
    heads: usize,
    /// Bytes of the response read so far.
    bytes: u64,
    status: u16,
    keep_alive: bool,
    hit: Option<bool>,
    body_check: BodyCheck,
}

#[derive(Debug)]
enum At {
    Head,
    Length(u64),
    Chunked(Chunked),
    Close,
}

impl Response {
    /// A reader whose bodies are judged by `expect`.
    pub fn new(expect: &Expectation) -> Self {
        Response {
            at: At::Head,
            partial: Vec::new(),
            heads: 0,
            bytes: 0,
            status: 0,
            keep_alive: false,
            hit: None,
            body_check: expect.body_check(),
        }
    }

    /// Make ready for the next response.
    pub fn reset(&mut self) {
        self.at = At::Head;
        self.partial.clear();
        self.heads = 0;
        self.bytes = 0;
        self.body_check.reset();
    }

    /// Take the next bytes; `Some(n)` when the response is whole after `n` of them.
    ///
    /// # Errors
    /// [`Malformed`] for bytes that are not an HTTP/1.1 response, and for an endless head.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        heads: &mut HeadReader,
    ) -> Result<Option<usize>, Malformed> {
        let end = self.advance(bytes, heads)?;
        self.bytes += end.unwrap_or(bytes.len()) as u64;
        Ok(end)
    }

    fn advance(
        &mut self,
        bytes: &[u8],
        heads: &mut HeadReader,
    ) -> Result<Option<usize>, Malformed> {
        let mut used = 0;
        if matches!(self.at, At::Head) {
            match self.feed_head(bytes, heads)? {
                Some(head) => used = head,
                None => return Ok(None),
            }
        }
        let end = self.feed_body(&bytes[used..])?;
        Ok(end.map(|end| used + end))
    }

    /// Bytes of the body that are still to come, if only their number matters.
    pub fn unread(&self) -> Option<usize> {
        match self.at {
            At::Length(left) if !self.body_check.needs_bytes() => usize::try_from(left).ok(),
            _ => None,
        }
    }

    /// Go on as if `length` bytes had been fed.
    ///
    /// # Errors
    /// [`Malformed`] if the body's bytes are needed.
    pub fn skip(&mut self, length: usize) -> Result<Option<usize>, Malformed> {
        let left = self
            .unread()
            .ok_or(Malformed("bytes that cannot be skipped"))?;
        let here = left.min(length);
        self.at = At::Length((left - here) as u64);
        self.body_check.count(here as u64);
        self.bytes += here as u64;
        Ok((here == left).then_some(here))
    }

    /// Return true if the response is whole when the server closes now.
    pub fn ends_by_close(&self) -> bool {
        matches!(self.at, At::Close)
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Return true if another request may follow on the connection.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// True if a header says that a cache had it; none without such a header.
    pub fn hit(&self) -> Option<bool> {
        self.hit
    }

    /// Bytes of the response so far, head included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The check of the body.
    pub fn body_check(&mut self) -> &mut BodyCheck {
        &mut self.body_check
    }

    /// Read heads until the final one is whole; return how many of `bytes` belong to them.
    fn feed_head(
        &mut self,
        bytes: &[u8],
        heads: &mut HeadReader,
    ) -> Result<Option<usize>, Malformed> {
        let mut used = 0;
        loop {
            let known = self.partial.len();
            let found = if known == 0 {
                heads.read(&bytes[used..])?
            } else {
                self.partial.extend_from_slice(&bytes[used..]);
                heads.read(&self.partial)?
            };
            let Some((head, length)) = found else {
                if known == 0 {
                    self.partial.extend_from_slice(&bytes[used..]);
                }
                if self.heads + self.partial.len() > MAX_HEAD {
                    return Err(Malformed("an endless head"));
                }
                return Ok(None);
            };
            if head.status >= 200 {
                let whole = match known {
                    0 => &bytes[used..],
                    _ => &self.partial,
                };
                self.body_check.head(&whole[..length]);
                if let Some(draft) = self.body_check.draft() {
                    head::fields(&whole[..length], |name, value| draft.field(name, value));
                }
            }
            self.partial.clear();
            self.heads += length;
            used += length - known;
            if self.heads > MAX_HEAD {
                return Err(Malformed("an endless head"));
            }
            if head.status == 101 {
                return Err(Malformed("a switch of protocols that was not requested"));
            }
            if head.status < 200 {
                continue;
            }
            self.status = head.status;
            self.keep_alive = head.keep_alive;
            self.hit = head.hit;
            self.at = match head.framing {
                Framing::Length(length) => At::Length(length),
                Framing::Chunked => At::Chunked(Chunked::default()),
                Framing::Close => At::Close,
            };
            return Ok(Some(used));
        }
    }

    fn feed_body(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        match &mut self.at {
            At::Length(left) => {
                let here = bytes
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= here as u64;
                self.body_check.update(&bytes[..here]);
                Ok((*left == 0).then_some(here))
            }
            At::Chunked(chunked) => chunked.feed(bytes, &mut self.body_check),
            At::Close => {
                self.body_check.update(bytes);
                Ok(None)
            }
            At::Head => Ok(None),
        }
    }
}
