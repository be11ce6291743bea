//! A place for one worker at a time: its user, and the control groups that limit it.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::fs::{Mode as Permissions, OFlags, fcntl_setfl, open};

use crate::cgroup::SlotGroup;
use crate::descriptors::moved_up;
use crate::log::Log;
use crate::numbers::user_of;

/// A place for a worker.
#[derive(Debug)]
pub struct Slot {
    /// Its number, which no other slot of this machine has at the same time.
    pub number: u32,
    /// The groups that count and limit its processes.
    pub group: Arc<SlotGroup>,
    /// Its own /dev/null: a setting on an open file is visible to all that share the file.
    null: OwnedFd,
    /// The log of its workers' standard error, if that is kept.
    log: Option<Arc<Log>>,
}

impl Slot {
    /// Make a slot with a file of its own for standard streams. They lead nowhere, except that errors may
    /// go to a log.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub(crate) fn new(
        number: u32,
        group: SlotGroup,
        log: Option<Arc<Log>>,
    ) -> Result<Self, String> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let null = open("/dev/null", flags, Permissions::empty()).and_then(moved_up);
        Ok(Slot {
            number,
            group: Arc::new(group),
            null: null.map_err(|error| format!("/dev/null: {error}"))?,
            log,
        })
    }

    /// The file of its worker's standard streams.
    pub fn null(&self) -> RawFd {
        self.null.as_raw_fd()
    }

    /// Return true if its workers' standard error is kept.
    pub fn is_logged(&self) -> bool {
        self.log.is_some()
    }

    /// Return the next worker's standard error, if that is kept.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn line(&self) -> Result<Option<OwnedFd>, String> {
        self.log.as_ref().map(|log| log.line()).transpose()
    }

    /// Take back what the last worker may have set on its standard streams.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn reset(&self) -> Result<(), String> {
        fcntl_setfl(&self.null, OFlags::empty())
            .map_err(|error| format!("reset the standard streams: {error}"))
    }

    /// The user and group that its processes run as, where a mode gives them one of their own.
    pub fn user(&self) -> u32 {
        user_of(self.number)
    }
}
