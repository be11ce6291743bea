//! A place for one worker at a time: its user, and the control groups that hold its limits.

use std::sync::Arc;

use crate::cgroup::SlotGroup;

/// Users of slots, one each, that nobody else on the machine is expected to be.
const FIRST_USER: u32 = 2_000_000_000;

/// A place for a worker.
#[derive(Debug)]
pub struct Slot {
    /// Its number, which no other slot of this process has at the same time.
    pub number: u32,
    /// Where its processes are counted and limited.
    pub group: Arc<SlotGroup>,
}

impl Slot {
    /// The user and group that its processes run as, where a mode gives them one of their own.
    pub fn user(&self) -> u32 {
        FIRST_USER + self.number
    }
}
