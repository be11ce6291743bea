//! Why bytes are no HTTP/1.1 response.

/// What is no HTTP/1.1 response, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);
