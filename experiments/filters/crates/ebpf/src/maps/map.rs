//! The common part of all kinds of maps: declaration, place in memory, and errors.

use thiserror::Error;

use crate::map_spec::MapSpec;

/// The reason why an operation on a map failed, by the kernel's error numbers.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum MapError {
    /// There is no such key.
    #[error("there is no such key")]
    NoEntry = 2,
    /// No room for another entry, or an index beyond the last.
    #[error("the map is full, or has no entry of that index")]
    TooBig = 7,
    /// Whoever holds the map's lock does not go on.
    #[error("the map's lock is held by someone who does not go on; try again")]
    Busy = 16,
    /// There is such a key already.
    #[error("there is such a key already")]
    Exists = 17,
    /// An operation that this map does not have, or sizes that are not its own.
    #[error("the map has no such operation, or other sizes")]
    Invalid = 22,
    /// The queue has no room for the event.
    #[error("the queue of events is full")]
    NoSpace = 28,
}

/// The condition under which [`Map::update`] writes: always, only a new key, only a known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named above, in order")]
pub enum Update {
    Any,
    New,
    Known,
}

/// One map. Its operations are safe to call from any number of threads and processes.
#[derive(Debug)]
pub struct Map {
    pub(super) spec: MapSpec,
    pub(super) base: *mut u8,
    /// The maps that values may name, by their place in the declaration's choices.
    pub(super) inner: Box<[*const Map]>,
}

// SAFETY: `base` is memory that every thread and process may use at once; operations synchronise in it.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

/// Round a size up to the alignment of keys and values.
pub fn padded(bytes: u32) -> usize {
    (bytes as usize).next_multiple_of(8)
}
