//! Queues of events: a ring of records, each a head and its bytes in one piece, at a multiple of 8 bytes.
//!
//! A record that a program reserves is in the queue at once, and busy until the program submits or
//! discards it; readers wait for it, unless its thread is dead. Where a record would reach beyond the
//! ring's end, an empty one fills what is left there.

use std::sync::atomic::{AtomicU64, Ordering};

use super::lock::Lock;
use super::map::{Map, MapError};
use super::record::{BUSY, DISCARDED, LENGTH, Record};
use super::{reserved, thread};
use crate::map_spec::MapSpec;

#[repr(C, align(64))]
struct Header {
    lock: Lock,
    /// Bytes ever written. A record is there once this says so: a writer that dies leaves none.
    written: AtomicU64,
    /// Bytes ever read.
    read: AtomicU64,
}

/// Questions about the queue, by the kernel's numbers.
const AVAILABLE: u64 = 0;
const SIZE: u64 = 1;
const READ: u64 = 2;
const WRITTEN: u64 = 3;

/// The part of the stream that is written and not read.
struct Stream<'a> {
    map: &'a Map,
    header: &'a Header,
}

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

/// Bytes of a record with its head.
fn whole(length: usize) -> u64 {
    (size_of::<Record>() + length.next_multiple_of(8)) as u64
}

pub fn send(map: &Map, event: &[u8]) -> Result<(), MapError> {
    let stream = Stream::of(map);
    let work = || {
        stream.append(event.len(), |record| {
            record.owner.store(0, Ordering::Relaxed);
            // SAFETY: `append` found as many bytes behind the head; the lock is held.
            unsafe { record.bytes().copy_from(event.as_ptr(), event.len()) };
            record.state.store(event.len() as u32, Ordering::Relaxed);
        })
    };
    stream.header.lock.with(|| {}, work).map(|_| ())
}

/// Reserve a record. Return its bytes.
pub fn reserve(map: &Map, length: usize) -> Result<*mut u8, MapError> {
    let stream = Stream::of(map);
    let work = || {
        stream.append(length, |record| {
            record.owner.store(thread::id(), Ordering::Relaxed);
            record.state.store(BUSY | length as u32, Ordering::Relaxed);
        })
    };
    let record = stream.header.lock.with(|| {}, work)?;
    reserved::add(record);
    Ok(record.bytes())
}

/// Return an answer about the queue, 0 where there is none.
pub fn query(map: &Map, what: u64) -> u64 {
    let header = header(map);
    let (read, written) = (&header.read, &header.written);
    match what {
        AVAILABLE => written
            .load(Ordering::Relaxed)
            .wrapping_sub(read.load(Ordering::Relaxed)),
        SIZE => map.spec.max_entries.into(),
        READ => read.load(Ordering::Relaxed),
        WRITTEN => written.load(Ordering::Relaxed),
        _ => 0,
    }
}

pub fn receive(map: &Map) -> Option<Vec<u8>> {
    let stream = Stream::of(map);
    // Later, if the lock cannot be had now.
    let work = || Ok(stream.take());
    stream.header.lock.with(|| {}, work).ok().flatten()
}

impl<'a> Stream<'a> {
    fn of(map: &'a Map) -> Self {
        let header = header(map);
        Self { map, header }
    }

    fn capacity(&self) -> u64 {
        self.map.spec.max_entries.into()
    }

    /// The head at a place of the stream, and the bytes from there to the ring's end.
    fn record(&self, at: u64) -> (&'a Record, u64) {
        // A multiple of 8, whatever the memory says.
        let offset = at & (self.capacity() - 1) & !7;
        // SAFETY: the offset is below the ring's size, a power of two; a head is atomic and has 8 bytes.
        let record = unsafe {
            let ring = self.map.base.add(size_of::<Header>());
            &*ring.add(offset as usize).cast()
        };
        (record, self.capacity() - offset)
    }

    /// Add a record whose head and bytes `fill` makes. The lock is held.
    fn append(&self, length: usize, fill: impl FnOnce(&Record)) -> Result<&'a Record, MapError> {
        let (capacity, needed) = (self.capacity(), whole(length));
        if needed > capacity {
            return Err(MapError::NoSpace);
        }
        let read = self.header.read.load(Ordering::Relaxed);
        let mut written = self.header.written.load(Ordering::Relaxed);
        let mut used = written.wrapping_sub(read);
        let (mut record, left) = self.record(written);
        if needed > left {
            let after = written.wrapping_add(left);
            if used == 0 {
                // Nobody waits for anything: begin at the ring's start.
                self.header.read.store(after, Ordering::Relaxed);
            } else {
                if used.saturating_add(left + needed) > capacity {
                    return Err(MapError::NoSpace);
                }
                let rest = left as u32 - size_of::<Record>() as u32;
                record.state.store(DISCARDED | rest, Ordering::Relaxed);
                used += left;
            }
            written = after;
            record = self.record(written).0;
        }
        if used.saturating_add(needed) > capacity {
            return Err(MapError::NoSpace);
        }
        fill(record);
        let after = written.wrapping_add(needed);
        self.header.written.store(after, Ordering::Release);
        Ok(record)
    }

    /// Take the oldest record, if it is finished. The lock is held.
    fn take(&self) -> Option<Vec<u8>> {
        loop {
            let read = self.header.read.load(Ordering::Relaxed);
            let written = self.header.written.load(Ordering::Acquire);
            let used = written.wrapping_sub(read);
            if used == 0 {
                return None;
            }
            let (record, left) = self.record(read);
            let state = record.state.load(Ordering::Acquire);
            let busy = state & BUSY != 0;
            if busy && thread::is_alive(record.owner.load(Ordering::Relaxed)) {
                return None;
            }
            let length = (state & LENGTH) as usize;
            let size = whole(length);
            // Not beyond what is there, whatever the memory says.
            if size > used.min(left) || used > self.capacity() {
                self.header.read.store(written, Ordering::Release);
                return None;
            }
            let event = (state & (BUSY | DISCARDED) == 0).then(|| {
                let mut event = vec![0; length];
                // SAFETY: so many bytes follow in the ring, checked just above.
                unsafe { event.as_mut_ptr().copy_from(record.bytes(), event.len()) };
                event
            });
            let after = read.wrapping_add(size);
            self.header.read.store(after, Ordering::Release);
            if event.is_some() {
                return event;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_spec::MapKind;
    use crate::maps::Maps;

    fn queue() -> Maps {
        let spec = MapSpec {
            name: "queue".to_owned(),
            kind: MapKind::Events,
            key_size: 0,
            value_size: 0,
            max_entries: 4096,
            read_only: false,
            initial: Vec::new(),
            choices: Vec::new(),
        };
        Maps::anonymous(&[spec]).unwrap()
    }

    #[test]
    fn a_record_that_is_longer_than_the_ring_with_its_head_changes_nothing() {
        let maps = queue();
        let map = &maps.all()[0];
        for length in [4089, 4096, 4097] {
            assert_eq!(send(map, &vec![0; length]), Err(MapError::NoSpace));
            assert_eq!(query(map, AVAILABLE), 0);
        }
        send(map, &[1; 4088]).unwrap();
        assert_eq!(receive(map), Some(vec![1; 4088]));
    }

    #[test]
    fn a_record_of_a_dead_thread_is_passed_over_and_of_a_living_one_waited_for() {
        let maps = queue();
        let map = &maps.all()[0];
        // SAFETY: the child reserves and ends, and the parent waits for it.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let _ = reserve(map, 100);
                libc::_exit(0);
            }
            assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
        }
        send(map, b"after it").unwrap();
        assert_eq!(receive(map), Some(b"after it".to_vec()));
        let mine = reserve(map, 8).unwrap();
        send(map, b"later").unwrap();
        assert_eq!(receive(map), None);
        // SAFETY: reserved three lines above.
        unsafe {
            mine.copy_from(b"earlier!".as_ptr(), 8);
            crate::maps::finish(mine, false);
        }
        assert_eq!(receive(map), Some(b"earlier!".to_vec()));
        assert_eq!(receive(map), Some(b"later".to_vec()));
    }
}
