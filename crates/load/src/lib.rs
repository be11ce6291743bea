//! The load generator of tare.
//!
//! [`engine`] sends requests by the clock and measures their answers; it knows nothing of HTTP.
//! A protocol is one module behind [`protocol::Protocol`]. Those over a stream of bytes are sans-io,
//! behind [`dialogue::Dialogue`]: [`h1`], [`h2`], [`echo`], [`proto`]; [`stream`] gives them sockets.
//! [`spec`] says what to send, [`run`] does it, [`report`] says what came of it; spec and report are
//! described in docs/FORMAT.md.

pub mod cli;
pub mod dialogue;
pub mod echo;
pub mod engine;
pub mod fields;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod hpack;
pub mod keys;
pub mod oracle;
pub mod pipeline;
pub mod plan;
pub mod proto;
pub mod protocol;
pub mod random;
pub mod report;
pub mod run;
pub mod spec;
pub mod steps;
pub mod stream;
pub mod target;
pub mod time;
