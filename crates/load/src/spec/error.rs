//! The error of a spec that cannot be used.

use std::fmt;

/// A spec that cannot be used: the field, what was found, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    field: String,
    rest: String,
}

impl SpecError {
    /// An error in `field`: the value that was `found`, and its `remedy`.
    pub fn new(field: &str, found: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        SpecError {
            field: field.into(),
            rest: format!("{found}; {remedy}"),
        }
    }

    /// The same error, with another name of its field if `name` has one.
    pub fn renamed(self, name: impl Fn(&str) -> Option<&'static str>) -> Self {
        match name(&self.field) {
            Some(name) => SpecError {
                field: name.into(),
                ..self
            },
            None => self,
        }
    }

    /// The name of the field.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The same error as one of `field`, at a `place` there at which `whole` is written: parts of
    /// `whole` are called by their own names.
    pub fn within(self, field: &str, place: impl fmt::Display, whole: &str) -> Self {
        let part = match self.field.strip_prefix(whole) {
            Some("") => String::new(),
            Some(part) => format!("{}: ", part.trim_start_matches('.')),
            None => format!("{}: ", self.field),
        };
        SpecError {
            field: field.into(),
            rest: format!("{place}: {part}{}", self.rest),
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.rest)
    }
}

impl std::error::Error for SpecError {}
