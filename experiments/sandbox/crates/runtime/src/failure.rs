//! The reason why a call has no response.

use std::fmt;

/// The failure of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// All workers are taken, and as many calls wait as may.
    Busy,
    /// The client has as many calls of the binary at once as one may.
    PerClient,
    /// Requests and responses of all callers together have all the memory that they may.
    Crowded,
    /// The call's time is up.
    Deadline,
    /// The caller cancelled the call.
    Cancelled,
    /// The binary ended before its response was whole; how, in words.
    Died(String),
    /// The binary needed more memory than its limit.
    Memory,
    /// The binary used more CPU time than its limit.
    CpuTime,
    /// The request is longer than allowed.
    RequestTooLong,
    /// The binary's messages break the protocol.
    Protocol(String),
    /// The binary does not get ready; why, in words.
    NotReady(String),
    /// The handle is none, or no longer.
    Unloaded,
    /// The runtime ends.
    Stopping,
}

impl Failure {
    /// Its name in statistics and on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Busy | Failure::PerClient | Failure::Crowded => "busy",
            Failure::Deadline => "deadline",
            Failure::Cancelled => "cancelled",
            Failure::Died(_) => "died",
            Failure::Memory => "memory",
            Failure::CpuTime => "cpu_time",
            Failure::RequestTooLong => "request_too_long",
            Failure::Protocol(_) => "protocol",
            Failure::NotReady(_) => "not_ready",
            Failure::Unloaded => "unloaded",
            Failure::Stopping => "stopping",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Busy => f.write_str("busy: every worker is taken and the queue is full; try again later, or load with more workers"),
            Failure::PerClient => f.write_str("busy: this client has as many calls of the binary at once as one client may; try again later, or load with a larger --client-calls"),
            Failure::Crowded => f.write_str("busy: requests and responses of all clients take all their memory; try again later, or start the sandbox with a larger --payload-mb"),
            Failure::Deadline => f.write_str("the deadline has passed"),
            Failure::Cancelled => f.write_str("cancelled by the caller"),
            Failure::Died(how) => write!(f, "the binary ended before its response was whole: {how}"),
            Failure::Memory => f.write_str("the binary needed more memory than its limit"),
            Failure::CpuTime => f.write_str("the binary used more CPU time than its limit"),
            Failure::RequestTooLong => f.write_str("the request is longer than the limit"),
            Failure::Protocol(what) => write!(f, "the binary broke the protocol: {what}"),
            Failure::NotReady(why) => write!(f, "the binary does not get ready: {why}"),
            Failure::Unloaded => f.write_str("no binary is loaded under this handle"),
            Failure::Stopping => f.write_str("the sandbox is stopping"),
        }
    }
}

impl std::error::Error for Failure {}
