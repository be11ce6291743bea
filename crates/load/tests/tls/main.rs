//! TLS: what is negotiated, and servers that break its rules, each a counted error.

#[path = "../common/mod.rs"]
mod common;

mod bodies;
mod endings;
mod handshakes;
mod layer;
mod negotiation;
mod openssl;
mod roots;
mod server;
