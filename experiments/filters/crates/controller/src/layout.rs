//! The layout of the shared memory, as include/filter_shm.h has it in C.

use std::slice;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

/// "tcfilter", stored last when the memory is made.
pub const MAGIC: u64 = u64::from_le_bytes(*b"tcfilter");
/// Changes with the layout.
pub const VERSION: u32 = 1;
/// The longest prefix, in bytes.
pub const PREFIX_MAX: usize = 4092;

/// A counter on a cache line of its own.
#[repr(C, align(64))]
struct Counter(AtomicU64);

/// Rejected requests, and failures of the filter by part.
#[repr(C, align(64))]
struct Rejections {
    all: AtomicU64,
    failed: AtomicU64,
}

/// One of the two places for a prefix.
#[repr(C)]
pub struct Prefix {
    length: AtomicU32,
    bytes: [AtomicU8; PREFIX_MAX],
}

/// Put `prefix`, of at most [`PREFIX_MAX`] bytes, in force: the one in force is
/// `slots[generation % 2]`. One writer at a time.
pub fn publish(generation: &AtomicU64, slots: [&Prefix; 2], prefix: &[u8]) {
    let next = generation.load(Ordering::Relaxed).wrapping_add(1);
    let slot = slots[(next % 2) as usize];
    // Who sees a byte of what follows also sees that this slot is no longer the one in force.
    fence(Ordering::Release);
    for (place, byte) in slot.bytes.iter().zip(prefix) {
        place.store(*byte, Ordering::Relaxed);
    }
    slot.length.store(prefix.len() as u32, Ordering::Relaxed);
    generation.store(next, Ordering::Release);
}

/// The prefixes, on a cache line of their own.
#[repr(C, align(64))]
struct Prefixes([Prefix; 2]);

/// The whole memory.
#[repr(C)]
pub struct Layout {
    magic: AtomicU64,
    version: AtomicU32,
    owner: AtomicU32,
    generation: AtomicU64,
    accepted: Counter,
    rejected: Rejections,
    prefixes: Prefixes,
}

const _: () = assert!(
    size_of::<Layout>() == 8384,
    "filter_shm.h has the same size"
);

/// The filter's decisions so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests let through.
    pub accepted: u64,
    /// Requests refused.
    pub rejected: u64,
    /// Those of the refused for which the filter failed to answer.
    pub failed: u64,
}

impl Layout {
    /// Return true if the memory was completely made, in this very layout.
    pub fn is_complete(&self) -> bool {
        self.magic.load(Ordering::Acquire) == MAGIC
            && self.version.load(Ordering::Relaxed) == VERSION
    }

    /// Return true if making the memory was begun and not finished.
    pub fn is_begun(&self) -> bool {
        self.magic.load(Ordering::Acquire) == 0
    }

    /// Declares the memory complete.
    pub fn complete(&self) {
        self.version.store(VERSION, Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// The controller's process.
    pub fn owner(&self) -> u32 {
        self.owner.load(Ordering::Relaxed)
    }

    /// Names the controller's process.
    pub fn set_owner(&self, pid: u32) {
        self.owner.store(pid, Ordering::Relaxed);
    }

    /// All counters.
    pub fn counts(&self) -> Counts {
        Counts {
            accepted: self.accepted.0.load(Ordering::Relaxed),
            rejected: self.rejected.all.load(Ordering::Relaxed),
            failed: self.rejected.failed.load(Ordering::Relaxed),
        }
    }

    /// Count one decision.
    pub fn count(&self, accepted: bool) {
        let counter = if accepted {
            &self.accepted.0
        } else {
            &self.rejected.all
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Return true if the prefix in force accepts the URI.
    pub fn accepts(&self, uri: &[u8]) -> bool {
        loop {
            let generation = self.generation.load(Ordering::Acquire);
            let slot = &self.prefixes.0[(generation % 2) as usize];
            let length = (slot.length.load(Ordering::Relaxed) as usize).min(PREFIX_MAX);
            // SAFETY: bytes of this slot. Nobody writes to the slot in force, and what a comparison
            // that was overtaken by two publications saw is thrown away below.
            let prefix = unsafe { slice::from_raw_parts(slot.bytes.as_ptr().cast::<u8>(), length) };
            let accepted = uri.starts_with(prefix);
            fence(Ordering::Acquire);
            if self.generation.load(Ordering::Relaxed) == generation {
                return accepted;
            }
        }
    }

    /// Put `prefix`, of at most [`PREFIX_MAX`] bytes, in force. One writer at a time.
    pub fn publish(&self, prefix: &[u8]) {
        let [first, second] = &self.prefixes.0;
        publish(&self.generation, [first, second], prefix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Box<Layout> {
        // SAFETY: every field is an atomic integer, for which zero bytes are a valid value.
        unsafe { Box::new_zeroed().assume_init() }
    }

    fn in_force(layout: &Layout) -> Vec<u8> {
        let slot = &layout.prefixes.0[(layout.generation.load(Ordering::Relaxed) % 2) as usize];
        let length = slot.length.load(Ordering::Relaxed) as usize;
        slot.bytes[..length]
            .iter()
            .map(|byte| byte.load(Ordering::Relaxed))
            .collect()
    }

    #[test]
    fn fields_lie_where_the_header_has_them() {
        use std::mem::offset_of;
        assert_eq!(offset_of!(Layout, generation), 16);
        assert_eq!(offset_of!(Layout, accepted), 64);
        assert_eq!(offset_of!(Layout, rejected), 128);
        assert_eq!(offset_of!(Rejections, failed), 8);
        assert_eq!(offset_of!(Layout, prefixes), 192);
    }

    #[test]
    fn is_complete_only_after_complete() {
        let layout = empty();
        assert!(layout.is_begun() && !layout.is_complete());
        layout.complete();
        assert!(layout.is_complete() && !layout.is_begun());
    }

    #[test]
    fn a_shorter_prefix_replaces_a_longer_one() {
        let layout = empty();
        for prefix in [&b"/aaaa"[..], b"/b", b"", &[0xff; PREFIX_MAX], b"/c"] {
            layout.publish(prefix);
            assert_eq!(in_force(&layout), prefix);
        }
    }

    #[test]
    fn the_prefix_in_force_decides_and_is_counted() {
        let layout = empty();
        layout.publish(b"/aaaa");
        for (uri, accepted) in [(&b"/aaaa"[..], true), (b"/aaaab", true), (b"/aaa", false)] {
            assert_eq!(layout.accepts(uri), accepted);
            layout.count(accepted);
        }
        layout.publish(b"");
        assert!(layout.accepts(b""));
        let counts = layout.counts();
        assert_eq!((counts.accepted, counts.rejected), (2, 1));
    }

    #[test]
    fn publishing_leaves_the_slot_in_force_alone() {
        let layout = empty();
        layout.publish(b"/old");
        let old = (layout.generation.load(Ordering::Relaxed) % 2) as usize;
        layout.publish(b"/new");
        assert_eq!(layout.prefixes.0[old].length.load(Ordering::Relaxed), 4);
        assert_eq!(
            layout.prefixes.0[old].bytes[1].load(Ordering::Relaxed),
            b'o'
        );
    }
}
