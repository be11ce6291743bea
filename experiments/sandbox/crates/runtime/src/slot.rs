//! A place for one worker at a time: its user, and the control groups that limit it.

use std::collections::BTreeSet;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode as Permissions, OFlags, fcntl_setfl, open};

use crate::cgroup::SlotGroup;
use crate::descriptors::moved_up;
use crate::lock::lock;
use crate::log::Log;

/// Users of slots, one each, that nobody else on the machine is expected to be.
const FIRST_USER: u32 = 2_000_000_000;

/// A place for a worker.
#[derive(Debug)]
pub struct Slot {
    /// Its number, which no other slot of this process has at the same time.
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
        FIRST_USER + self.number
    }
}

/// A user that is no slot's, until it is dropped.
pub(crate) struct Spare(Vec<u32>);

impl Spare {
    /// Take one that nobody has.
    pub(crate) fn take() -> Self {
        Spare(NUMBERS.take(1))
    }

    /// Its number.
    pub(crate) fn user(&self) -> u32 {
        FIRST_USER + self.0[0]
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        NUMBERS.give_back(&self.0);
    }
}

/// Numbers of slots in use, of all runtimes of this process: no two have the same user.
pub(crate) static NUMBERS: Numbers = Numbers(Mutex::new(BTreeSet::new()));

/// Numbers that are given out once at a time.
pub(crate) struct Numbers(Mutex<BTreeSet<u32>>);

impl Numbers {
    /// Take so many that nobody has.
    pub(crate) fn take(&self, count: usize) -> Vec<u32> {
        let mut used = lock(&self.0);
        let free: Vec<u32> = (0..)
            .filter(|number| !used.contains(number))
            .take(count)
            .collect();
        used.extend(&free);
        free
    }

    /// Give numbers back.
    pub(crate) fn give_back(&self, numbers: &[u32]) {
        let mut used = lock(&self.0);
        for number in numbers {
            used.remove(number);
        }
    }
}
