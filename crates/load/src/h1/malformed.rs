//! The error of bytes that are not an HTTP/1.1 response.

/// The reason why bytes are not an HTTP/1.1 response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);
