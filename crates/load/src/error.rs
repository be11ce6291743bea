//! The reason why a run has no result.

use std::io;

use crate::spec::SpecError;

/// The reason why there is no result.
#[derive(Debug)]
pub enum Error {
    /// The spec cannot be used.
    Usage(SpecError),
    /// Something else failed.
    Other(io::Error),
    /// A signal came before the run began.
    Stopped,
}

impl From<SpecError> for Error {
    fn from(error: SpecError) -> Self {
        Error::Usage(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Other(error)
    }
}
