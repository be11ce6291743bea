//! The head of a record in a queue of events.

use std::sync::atomic::{AtomicU32, Ordering};

/// The head of a record.
#[repr(C)]
pub struct Record {
    /// The length, and [`BUSY`] or [`DISCARDED`].
    pub(super) state: AtomicU32,
    /// The thread that makes it.
    pub(super) owner: AtomicU32,
}

/// Nobody may read the record yet.
pub(super) const BUSY: u32 = 1 << 31;
/// There is nothing to read in the record.
pub(super) const DISCARDED: u32 = 1 << 30;
/// The bits of the length.
pub(super) const LENGTH: u32 = DISCARDED - 1;

impl Record {
    /// The head of the record with these bytes.
    ///
    /// # Safety
    /// They must be a record's.
    pub unsafe fn of<'a>(bytes: *mut u8) -> &'a Self {
        // SAFETY: the head comes before the bytes; all of it is atomic.
        unsafe { &*bytes.sub(size_of::<Self>()).cast() }
    }

    /// The bytes behind the head.
    pub(super) fn bytes(&self) -> *mut u8 {
        let head = std::ptr::from_ref(self).cast_mut();
        // The bytes follow the head.
        head.wrapping_add(1).cast()
    }

    /// Hand the record over to readers, or take it back.
    pub fn finish(&self, discard: bool) {
        let length = self.state.load(Ordering::Relaxed) & LENGTH;
        let discarded = if discard { DISCARDED } else { 0 };
        self.state.store(length | discarded, Ordering::Release);
    }
}
