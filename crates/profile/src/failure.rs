//! The reasons for which there is no profile.

use std::fmt::{self, Display, Formatter};

/// A reason for which the program ends without a profile, as one sentence.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// This kernel, or what this process may do, does not allow a profile.
    Unavailable(String),
    /// The options contradict each other.
    Usage(String),
    /// Anything else.
    Other(String),
}

impl Failure {
    /// Name what was being done when an error occurred.
    pub fn of(what: &str, error: impl Display) -> Self {
        Self::Other(format!("{what}: {error}"))
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (Self::Unavailable(text) | Self::Usage(text) | Self::Other(text)) = self;
        formatter.write_str(text)
    }
}
