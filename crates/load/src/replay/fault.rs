//! The fault of a line or an entry.

/// The reason why a line or an entry is no request.
pub type Fault = String;
