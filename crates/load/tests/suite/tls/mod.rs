//! TLS: what is negotiated, and servers that break its rules, each a counted error.

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
mod users;
