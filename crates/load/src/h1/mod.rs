//! HTTP/1.1 (RFC 9112): requests on kept-alive connections, pipelined if asked for.

pub mod chunked;
pub mod head;
mod malformed;
pub mod request;
pub mod response;

use self::head::HeadReader;
pub use self::malformed::Malformed;
pub use self::request::Exchange;
use self::response::Response;
use crate::cache_header::CacheHeader;
use crate::dialogue::ReadHint;
use crate::expectation::Expectation;
use crate::keys::Keys;
use crate::pipeline::InOrder;
use crate::protocol::{Answer, ExchangeId, Failure, RequestId};

/// Bytes that a response's first call receives: a head and a small body. The rest of a larger one
/// is discarded in the kernel, which spares a tenth of the CPU time at 20 KB.
const FIRST: usize = 4 * 1024;

/// HTTP/1.1 as one thread speaks it.
#[derive(Debug)]
pub struct H1<'a> {
    exchanges: &'a [Exchange],
    heads: HeadReader,
    /// Reads the heads of answers without a body.
    bodiless_heads: HeadReader,
    /// By target.
    keys: Vec<Keys>,
}

impl<'a> H1<'a> {
    /// A thread's own state for the common `exchanges`.
    pub fn new(exchanges: &'a [Exchange], keys: Vec<Keys>) -> Self {
        H1 {
            exchanges,
            heads: HeadReader::new(false),
            bodiless_heads: HeadReader::new(true),
            keys,
        }
    }

    /// The same, with answers that have a header about a cache.
    pub fn with_cache_header(self, cache: &CacheHeader) -> Self {
        H1 {
            heads: self.heads.with_cache_header(cache.clone()),
            bodiless_heads: self.bodiless_heads.with_cache_header(cache.clone()),
            ..self
        }
    }
}

impl InOrder for H1<'_> {
    type Reader = Response;
    type Sent = ExchangeId;

    const UNASKED: Failure = Failure::read("bytes without a request in flight");
    const CUT: Failure = Failure::read("closed before the answer was whole");
    const EXCESS_SPOILS: bool = true;

    fn reader(&self) -> Response {
        Response::new(&Expectation::default())
    }

    fn write(&mut self, target: usize, exchange: ExchangeId, out: &mut Vec<u8>) -> ExchangeId {
        let request = &self.exchanges[exchange as usize].request;
        request.write(&mut self.keys[target], out);
        exchange
    }

    fn read(
        &mut self,
        response: &mut Response,
        exchange: ExchangeId,
        bytes: &[u8],
    ) -> Result<Option<usize>, Failure> {
        let exchange = &self.exchanges[exchange as usize];
        if Self::is_fresh(response) {
            response.body_check().begin(&exchange.expect);
        }
        let heads = match exchange.bodiless {
            false => &mut self.heads,
            true => &mut self.bodiless_heads,
        };
        let read = response.feed(bytes, heads);
        read.map_err(|Malformed(why)| Failure::read(why))
    }

    fn is_fresh(response: &Response) -> bool {
        response.bytes() == 0
    }

    fn answer(&self, exchange: ExchangeId, request: RequestId, response: &mut Response) -> Answer {
        let status = response.status();
        let expect = &self.exchanges[exchange as usize].expect;
        let answer = Answer {
            request,
            status,
            bytes: response.bytes(),
            body: response.body_check().length(),
            hit: response.hit(),
            failure: expect.judge(status, response.body_check()),
            end: 0,
        };
        response.reset();
        answer
    }

    fn read_hint(&self, response: &Response, in_flight: usize, depth: usize) -> ReadHint {
        match response.unread() {
            // One byte more than the rest reveals a body that is too long.
            Some(rest) if in_flight == 1 => ReadHint::Discard(rest.saturating_add(1)),
            Some(rest) => ReadHint::Discard(rest),
            None if depth == 1 && Self::is_fresh(response) => ReadHint::Recv(FIRST),
            None => ReadHint::Recv(usize::MAX),
        }
    }

    fn skip(&mut self, response: &mut Response, length: usize) -> Result<Option<usize>, Failure> {
        let skipped = response.skip(length);
        skipped.map_err(|Malformed(why)| Failure::read(why))
    }

    fn is_last(response: &Response) -> bool {
        !response.keep_alive()
    }

    fn ends_by_close(response: &Response) -> bool {
        response.ends_by_close()
    }
}
