//! Queues of events: a ring of records, each its length and its bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use super::lock::Lock;
use super::map::{Map, MapError};
use crate::program::MapSpec;

#[repr(C, align(64))]
struct Header {
    lock: Lock,
    /// Bytes ever written. A record is there once this says so: a writer that dies leaves none.
    written: AtomicU64,
    /// Bytes ever read.
    read: AtomicU64,
}

const LENGTH: usize = size_of::<u32>();

pub fn bytes(spec: &MapSpec) -> usize {
    size_of::<Header>() + spec.max_entries as usize
}

pub fn make(map: &Map) {
    Lock::make(map.base.cast());
}

fn header(map: &Map) -> &Header {
    // SAFETY: a queue's memory begins with its header.
    unsafe { &*map.base.cast() }
}

/// The place of byte `at` of the stream.
fn place(map: &Map, at: u64) -> *mut u8 {
    let offset = at as usize & (map.spec.max_entries as usize - 1);
    // SAFETY: the offset is below the ring's size, a power of two.
    unsafe { map.base.add(size_of::<Header>() + offset) }
}

fn put(map: &Map, at: u64, bytes: &[u8]) {
    for (index, byte) in (at..).zip(bytes) {
        // SAFETY: a byte in the ring; the lock is held.
        unsafe { place(map, index).write(*byte) };
    }
}

fn take(map: &Map, at: u64, length: usize) -> Vec<u8> {
    let one = |index| {
        // SAFETY: as in `put`.
        unsafe { place(map, at + index).read() }
    };
    (0..length as u64).map(one).collect()
}

pub fn send(map: &Map, event: &[u8]) -> Result<(), MapError> {
    let header = header(map);
    Lock::with(
        map.base.cast(),
        || {},
        || {
            let written = header.written.load(Ordering::Relaxed);
            let used = written - header.read.load(Ordering::Relaxed);
            let needed = (LENGTH + event.len()) as u64;
            if used + needed > u64::from(map.spec.max_entries) {
                return Err(MapError::NoSpace);
            }
            put(map, written, &(event.len() as u32).to_le_bytes());
            put(map, written + LENGTH as u64, event);
            header.written.store(written + needed, Ordering::Release);
            Ok(())
        },
    )
}

pub fn receive(map: &Map) -> Option<Vec<u8>> {
    let header = header(map);
    Lock::with(
        map.base.cast(),
        || {},
        || {
            let read = header.read.load(Ordering::Relaxed);
            if header.written.load(Ordering::Acquire) == read {
                return None;
            }
            let length = take(map, read, LENGTH);
            let length = u32::from_le_bytes(*length.first_chunk()?).min(map.spec.max_entries);
            let event = take(map, read + LENGTH as u64, length as usize);
            let after = read + (LENGTH + event.len()) as u64;
            header.read.store(after, Ordering::Release);
            Some(event)
        },
    )
}
