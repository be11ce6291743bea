//! The reason for a rejection, and the limits that a program must keep.

use thiserror::Error;

/// The most calls under way at once, the entry included.
pub const MAX_CALLS: usize = 8;
/// The most instructions that the verifier looks at, counted again each time.
pub const MAX_STEPS: usize = 100_000;

/// The most stack frames that the verifier keeps at once, one for each call under way in each state at a
/// place where paths meet: some 64 MiB.
pub const MAX_FRAMES: usize = 10_000;

/// The reason why a program is rejected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("instruction {at}{}: {reason}", shown(place))]
pub struct Rejection {
    /// The slot, counted from the program's first.
    pub at: usize,
    /// File, line and function, if the object file says them.
    pub place: Option<String>,
    /// The property that cannot be proved, and the remedy.
    pub reason: String,
}

/// Return a rejection with its reason.
pub fn reject(at: usize, reason: &str) -> Rejection {
    Rejection {
        at,
        place: None,
        reason: reason.to_owned(),
    }
}

fn shown(place: &Option<String>) -> String {
    let place = place.as_ref();
    place.map_or(String::new(), |place| format!(" ({place})"))
}
