//! The error of a spec that cannot be used.

use std::fmt;

/// A spec that cannot be used: the field, what was found, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(String);

impl SpecError {
    /// An error in `field`: the value that was `found`, and its `remedy`.
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
