//! The requests of a run.

use super::request::Exchange;
use crate::crowd::turn::Step;

/// The exchanges of a run, and the steps of its users.
#[derive(Clone, Copy)]
pub struct Script<'a> {
    pub exchanges: &'a [Exchange],
    /// By exchange; none without users.
    pub steps: &'a [Step],
}
