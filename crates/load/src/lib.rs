//! The load generator of tare.
//!
//! [`engine`] sends requests by the clock and measures their answers; it knows nothing of HTTP.
//! A protocol is one module behind [`protocol::Protocol`]; [`h1`] is HTTP/1.1.
//! [`spec`] says what to send, [`report`] what came of it; both are described in docs/FORMAT.md.

pub mod cli;
pub mod engine;
pub mod h1;
pub mod hpack;
pub mod oracle;
pub mod plan;
pub mod protocol;
pub mod report;
pub mod spec;
pub mod target;
pub mod tcp;
