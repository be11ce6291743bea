//! A request in flight on a stream of its own.

use quinn_proto::StreamId;

use super::response::Response;
use crate::protocol::RequestId;

/// One request in flight.
pub struct Flow {
    /// Its stream.
    pub stream: StreamId,
    /// The request.
    pub request: RequestId,
    /// The reader of its response.
    pub response: Response,
    /// True once a part of its response has come.
    pub begun: bool,
    /// What the stream has not taken of the request.
    pub unsent: Vec<u8>,
}
