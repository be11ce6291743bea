//! HTTP/1.1 (RFC 9112): requests on kept-alive connections, pipelined if asked for.

pub mod chunked;
pub mod head;
mod malformed;
mod reading;
pub mod request;
pub mod response;
pub mod users;
pub mod valued;

pub use self::malformed::Malformed;
use self::reading::{CUT, Reading, UNASKED};
pub use self::request::Exchange;
use self::response::Response;
use crate::cache_header::CacheHeader;
use crate::dialogue::ReadHint;
use crate::expectation::Expectation;
use crate::keys::Keys;
use crate::pipeline::InOrder;
use crate::protocol::{Answer, ExchangeId, Failure, RequestId};

/// HTTP/1.1 as one thread speaks it.
#[derive(Debug)]
pub struct H1<'a> {
    exchanges: &'a [Exchange],
    reading: Reading,
    /// By target.
    keys: Vec<Keys>,
}

impl<'a> H1<'a> {
    /// A thread's own state for the common `exchanges`.
    pub fn new(exchanges: &'a [Exchange], keys: Vec<Keys>) -> Self {
        H1 {
            exchanges,
            reading: Reading::default(),
            keys,
        }
    }

    /// The same, with answers that have a header about a cache.
    pub fn with_cache_header(self, cache: &CacheHeader) -> Self {
        H1 {
            reading: self.reading.with_cache_header(cache),
            ..self
        }
    }
}

impl InOrder for H1<'_> {
    type Reader = Response;
    type Sent = ExchangeId;

    const UNASKED: Failure = UNASKED;
    const CUT: Failure = CUT;
    const EXCESS_SPOILS: bool = true;

    fn reader(&mut self, _: usize) -> Response {
        Response::new(&Expectation::default())
    }

    fn write(
        &mut self,
        target: usize,
        exchange: ExchangeId,
        _: &mut Response,
        out: &mut Vec<u8>,
    ) -> ExchangeId {
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
        self.reading.read(response, exchange, bytes)
    }

    fn is_fresh(response: &Response) -> bool {
        response.bytes() == 0
    }

    fn answer(&self, exchange: ExchangeId, request: RequestId, response: &mut Response) -> Answer {
        let expect = &self.exchanges[exchange as usize].expect;
        let answer = reading::answer(expect, request, response);
        response.reset();
        answer
    }

    fn read_hint(&self, response: &Response, in_flight: usize, depth: usize) -> ReadHint {
        reading::hint(response, in_flight, depth)
    }

    fn skip(&mut self, response: &mut Response, length: usize) -> Result<Option<usize>, Failure> {
        reading::skip(response, length)
    }

    fn is_last(response: &Response) -> bool {
        !response.keep_alive()
    }

    fn ends_by_close(response: &Response) -> bool {
        response.ends_by_close()
    }
}
