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

pub fn lock(map: &Map) -> &Lock {
    &header(map).lock
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
    for (index, byte) in bytes.iter().enumerate() {
        // SAFETY: a byte in the ring; the lock is held.
        unsafe { place(map, at.wrapping_add(index as u64)).write(*byte) };
    }
}

fn take(map: &Map, at: u64, bytes: &mut [u8]) {
    for (index, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: as in `put`.
        *byte = unsafe { place(map, at.wrapping_add(index as u64)).read() };
    }
}

pub fn send(map: &Map, event: &[u8]) -> Result<(), MapError> {
    let header = header(map);
    let work = || {
        let written = header.written.load(Ordering::Relaxed);
        let used = written.wrapping_sub(header.read.load(Ordering::Relaxed));
        let needed = (LENGTH + event.len()) as u64;
        if used.saturating_add(needed) > u64::from(map.spec.max_entries) {
            return Err(MapError::NoSpace);
        }
        put(map, written, &(event.len() as u32).to_le_bytes());
        put(map, written.wrapping_add(LENGTH as u64), event);
        let after = written.wrapping_add(needed);
        header.written.store(after, Ordering::Release);
        Ok(())
    };
    header.lock.with(|| {}, work)
}

pub fn receive(map: &Map) -> Option<Vec<u8>> {
    let header = header(map);
    let work = || {
        let read = header.read.load(Ordering::Relaxed);
        if header.written.load(Ordering::Acquire) == read {
            return Ok(None);
        }
        let mut length = [0; LENGTH];
        take(map, read, &mut length);
        // Not beyond the ring, whatever the memory says.
        let length = u32::from_le_bytes(length).min(map.spec.max_entries);
        let mut event = vec![0; length as usize];
        take(map, read.wrapping_add(LENGTH as u64), &mut event);
        let after = read.wrapping_add((LENGTH + event.len()) as u64);
        header.read.store(after, Ordering::Release);
        Ok(Some(event))
    };
    // Later, if the lock cannot be had now.
    header.lock.with(|| {}, work).ok().flatten()
}
