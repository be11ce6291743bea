//! Why a spec cannot be used.

use std::fmt;

/// A spec that cannot be used: which field, what was found, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(String);

impl SpecError {
    /// An error in `field`: what was `found`, and what to do about it.
    pub fn new(field: &str, found: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        SpecError(format!("{field}: {found}; {remedy}"))
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}
