//! A request in flight on a stream of its own.

use quinn_proto::StreamId;

use super::response::Response;
use crate::crowd::seats::Seat;
use crate::protocol::{ExchangeId, RequestId};

/// One request in flight.
pub struct Flow {
    /// Its stream.
    pub stream: StreamId,
    /// The request.
    pub request: RequestId,
    /// Its exchange.
    pub exchange: ExchangeId,
    /// The reader of its response.
    pub response: Response,
    /// True once a part of its response has come.
    pub begun: bool,
    /// The part of the request that the stream has not taken.
    pub unsent: Vec<u8>,
    /// The user that sent the request, if it is of a sequence.
    pub seat: Option<Box<Seat>>,
}
