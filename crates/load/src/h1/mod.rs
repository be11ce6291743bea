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
use crate::dialogue::ReadHint;
use crate::keys::Keys;
use crate::pipeline::InOrder;
use crate::protocol::{Answer, Failure, RequestId};

/// Bytes that a response's first call receives: a head and a small body. The rest of a larger one
/// is discarded in the kernel, which spares a tenth of the CPU time at 20 KB.
const FIRST: usize = 4 * 1024;

/// HTTP/1.1 as one thread speaks it.
#[derive(Debug)]
pub struct H1<'a> {
    exchanges: &'a [Exchange],
    heads: HeadReader,
    /// By target.
    keys: Vec<Keys>,
}

impl<'a> H1<'a> {
    /// A thread's own state for the common `exchanges`. All requests have the same `method`.
    pub fn new(method: &http::Method, exchanges: &'a [Exchange], keys: Vec<Keys>) -> Self {
        H1 {
            exchanges,
            heads: HeadReader::new(method),
            keys,
        }
    }
}

impl InOrder for H1<'_> {
    type Reader = Response;
    type Sent = ();

    const UNASKED: Failure = Failure::read("bytes without a request in flight");
    const CUT: Failure = Failure::read("closed before the answer was whole");
    const EXCESS_SPOILS: bool = true;

    fn reader(&self, target: usize) -> Response {
        Response::new(&self.exchanges[target].expect)
    }

    fn write(&mut self, target: usize, out: &mut Vec<u8>) {
        let request = &self.exchanges[target].request;
        request.write(&mut self.keys[target], out);
    }

    fn read(
        &mut self,
        response: &mut Response,
        (): (),
        bytes: &[u8],
    ) -> Result<Option<usize>, Failure> {
        let read = response.feed(bytes, &mut self.heads);
        read.map_err(|Malformed(why)| Failure::read(why))
    }

    fn is_fresh(response: &Response) -> bool {
        response.bytes() == 0
    }

    fn answer(&self, target: usize, request: RequestId, response: &mut Response) -> Answer {
        let status = response.status();
        let expect = &self.exchanges[target].expect;
        let answer = Answer {
            request,
            status,
            bytes: response.bytes(),
            failure: expect.judge(status, response.body_check()),
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
