//! The records that the running thread has reserved and not finished: a run that ends without fuel leaves
//! them to be discarded, or their queues would wait for them.

use std::cell::Cell;
use std::ptr;

use super::record::Record;

/// The most records that a program may have reserved at once.
pub const MAX_RESERVED: usize = 8;

thread_local! {
    static RESERVED: [Cell<*const Record>; MAX_RESERVED] =
        const { [const { Cell::new(ptr::null()) }; MAX_RESERVED] };
}

fn replace(old: *const Record, new: *const Record) {
    RESERVED.with(|all| {
        if let Some(place) = all.iter().find(|place| place.get() == old) {
            place.set(new);
        }
    });
}

/// Remember a record. The verifier sees to it that there are not too many.
pub fn add(record: &Record) {
    replace(ptr::null(), record);
}

/// Forget a record, which is finished.
pub fn remove(record: &Record) {
    replace(record, ptr::null());
}

/// Discard the records of a run that came to no end.
///
/// # Safety
/// The queues of its reservations must still be there.
pub unsafe fn discard() {
    RESERVED.with(|all| {
        for place in all {
            let record = place.replace(ptr::null());
            // SAFETY: as the caller promises.
            if let Some(record) = unsafe { record.as_ref() } {
                record.finish(true);
            }
        }
    });
}
