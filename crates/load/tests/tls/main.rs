//! TLS: what is negotiated, and servers that break its rules, each a counted error.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/h2.rs"]
mod h2;

mod auto;
mod bodies;
mod described;
mod endings;
mod handshakes;
mod identity;
mod layer;
mod negotiation;
mod openssl;
mod roots;
mod server;
