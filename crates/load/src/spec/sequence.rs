//! The sequence of a mix, as a spec describes it.

use serde::Deserialize;

/// Sends a mix's requests as users do, in their order and with values of their answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SequenceSpec {
    /// True if each user keeps cookies.
    pub cookies: bool,
}
