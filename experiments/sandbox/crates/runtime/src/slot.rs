//! A place for one worker at a time: its user, and the control groups that limit it.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode as Permissions, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::cgroup::SlotGroup;
use crate::descriptors::moved_up;
use crate::lock::lock;
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
    /// True if its workers' standard error is kept.
    is_logged: bool,
    /// The end to be read of the last worker's standard error, until somebody takes it.
    said: Mutex<Option<OwnedFd>>,
}

impl Slot {
    /// Make a slot with a file of its own for standard streams. They lead nowhere, except that errors may
    /// be kept.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub(crate) fn new(number: u32, group: SlotGroup, is_logged: bool) -> Result<Self, String> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let null = open("/dev/null", flags, Permissions::empty()).and_then(moved_up);
        Ok(Slot {
            number,
            group: Arc::new(group),
            null: null.map_err(|error| format!("/dev/null: {error}"))?,
            is_logged,
            said: Mutex::default(),
        })
    }

    /// The file of its worker's standard streams.
    pub fn null(&self) -> RawFd {
        self.null.as_raw_fd()
    }

    /// Return true if its workers' standard error is kept.
    pub fn is_logged(&self) -> bool {
        self.is_logged
    }

    /// Make the next worker's standard error, if that is kept.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn line(&self) -> Result<Option<OwnedFd>, String> {
        if !self.is_logged {
            return Ok(None);
        }
        let words = |error| format!("a pipe for the log: {error}");
        let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(words)?;
        // Of this end alone: who writes waits until there is room.
        let flags = fcntl_getfl(&ours).map_err(words)?;
        fcntl_setfl(&ours, flags | OFlags::NONBLOCK).map_err(words)?;
        *lock(&self.said) = Some(ours);
        moved_up(theirs).map(Some).map_err(words)
    }

    /// Take the end to be read of the last worker's standard error, if that is kept.
    pub fn said(&self) -> Option<OwnedFd> {
        lock(&self.said).take()
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
