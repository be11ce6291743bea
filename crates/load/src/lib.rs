//! The load generator of tare.
//!
//! [`engine`] sends requests by the clock and measures their answers; it knows nothing of HTTP. A
//! protocol is one module behind [`protocol::Protocol`]. Those over a stream of bytes are sans-io,
//! behind [`dialogue::Dialogue`]: [`h1`], [`h2`], [`websocket`], [`echo`], [`proto`]; [`stream`]
//! gives them sockets. [`pipeline`] shares what protocols that answer in order have in common,
//! [`crowd`] the users of all versions of HTTP that send sequences of requests. [`spec`] describes
//! the load, [`run`] makes it, [`report`] reports the result; docs/FORMAT.md describes spec and
//! result.

pub mod answers;
pub mod cache_header;
pub mod cli;
pub mod crowd;
pub mod decimal;
pub mod dialogue;
pub mod echo;
pub mod engine;
pub mod error;
pub mod expectation;
pub mod fields;
pub mod grpc;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod hpack;
pub mod keys;
pub mod owed;
pub mod pipeline;
pub mod plan;
pub mod proto;
pub mod protocol;
pub mod random;
pub mod replay;
pub mod report;
pub mod resolve;
pub mod run;
pub mod sample;
pub mod sequence;
pub mod spec;
pub mod start;
pub mod steps;
pub mod stream;
pub mod target;
pub mod time;
pub mod websocket;
