//! The reading of answers, whatever chooses their requests.

use super::head::HeadReader;
use super::malformed::Malformed;
use super::response::Response;
use crate::cache_header::CacheHeader;
use crate::dialogue::ReadHint;
use crate::expectation::{Exchange, Expectation};
use crate::protocol::{Answer, Failure, RequestId};

/// The failure of a connection on which bytes came without a request in flight.
pub const UNASKED: Failure = Failure::read("bytes without a request in flight");

/// The failure of a connection that closed before the answer was whole.
pub const CUT: Failure = Failure::read("closed before the answer was whole");

/// Bytes that a response's first call receives: a head and a small body. The rest of a larger one
/// is discarded in the kernel, which spares a tenth of the CPU time at 20 KB.
const FIRST: usize = 4 * 1024;

/// Reads the answers of one thread.
#[derive(Debug)]
pub struct Reading {
    heads: HeadReader,
    /// Reads the heads of answers without a body.
    bodiless_heads: HeadReader,
}

impl Default for Reading {
    fn default() -> Self {
        Reading {
            heads: HeadReader::new(false),
            bodiless_heads: HeadReader::new(true),
        }
    }
}

impl Reading {
    /// The same, with answers that have a header about a cache.
    pub fn with_cache_header(self, cache: &CacheHeader) -> Self {
        Reading {
            heads: self.heads.with_cache_header(cache.clone()),
            bodiless_heads: self.bodiless_heads.with_cache_header(cache.clone()),
        }
    }

    /// Read on; `Some(n)` when the answer to `exchange` is whole after `n` of the `bytes`.
    ///
    /// # Errors
    /// The failure that ends the connection.
    pub fn read<R>(
        &mut self,
        response: &mut Response,
        exchange: &Exchange<R>,
        bytes: &[u8],
    ) -> Result<Option<usize>, Failure> {
        if response.bytes() == 0 {
            response.body_check().begin(&exchange.expect);
        }
        let heads = match exchange.bodiless {
            false => &mut self.heads,
            true => &mut self.bodiless_heads,
        };
        let read = response.feed(bytes, heads);
        read.map_err(|Malformed(why)| Failure::read(why))
    }
}

/// The whole answer to `request`, judged by `expect`.
pub fn answer(expect: &Expectation, request: RequestId, response: &mut Response) -> Answer {
    let status = response.status();
    Answer {
        request,
        status,
        bytes: response.bytes(),
        body: response.body_check().length(),
        hit: response.hit(),
        failure: expect.judge(status, response.body_check()),
        end: 0,
    }
}

/// The best way to receive the next bytes, with this many requests of at most `depth` in flight.
pub fn hint(response: &Response, in_flight: usize, depth: usize) -> ReadHint {
    match response.unread() {
        // One byte more than the rest reveals a body that is too long.
        Some(rest) if in_flight == 1 => ReadHint::Discard(rest.saturating_add(1)),
        Some(rest) => ReadHint::Discard(rest),
        None if depth == 1 && response.bytes() == 0 => ReadHint::Recv(FIRST),
        None => ReadHint::Recv(usize::MAX),
    }
}

/// Go on as if `length` bytes of the answer had been read.
///
/// # Errors
/// The failure that ends the connection.
pub fn skip(response: &mut Response, length: usize) -> Result<Option<usize>, Failure> {
    let skipped = response.skip(length);
    skipped.map_err(|Malformed(why)| Failure::read(why))
}
