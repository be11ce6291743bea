//! Hashes: chains of entries that are all there from the start, as in the kernel's preallocated hash.
//!
//! Writers hold a lock. Readers hold none: they look at a number that is odd while chains change, walk,
//! and look again; after some tries in vain they take the lock, too, if they can. Which entries are in use is one
//! word of each, so that everything else can be made again when a writer dies midway.
//!
//! A hash that evicts makes room when it is full: it takes out an entry that was not looked up since a hand
//! passed it last (the second chance of F. J. Corbató, "A Paging Experiment with the Multics System", 1968).

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::lock::Lock;
use super::map::{Map, MapError, Update, padded};
use super::values;
use crate::map_spec::MapSpec;

/// Readers' tries without the lock.
const TRIES: usize = 8;
/// The most entries of a chain, so that every walk ends soon. There are as many chains as entries, and
/// their seed is secret: without another writer of the memory no chain comes near it.
const MAX_CHAIN: usize = 64;
/// The end of a chain; entries are numbered from 1.
const NONE: u32 = 0;
/// In an entry's state: it is in use.
const USED: u32 = 1;
/// In an entry's state: it was looked up since the hand passed it.
const SEEN: u32 = 2;
/// The most entries that the hand passes to find one to take out.
const PASSED: usize = 32;
/// Bytes that the processor finds by one entry of its tables of pages.
const PAGE: usize = 4096;

#[repr(C, align(64))]
struct Header {
    lock: Lock,
    /// Odd while chains change.
    version: AtomicU64,
    /// Makes chains unpredictable to who chooses keys.
    seed: AtomicU64,
    free: AtomicU32,
    /// The entry that may be taken out next, counted from 0.
    hand: AtomicU32,
}

#[repr(C)]
struct Entry {
    next: AtomicU32,
    /// [`USED`] and [`SEEN`].
    state: AtomicU32,
}

/// An entry in its chain, and the link that leads to it.
struct Found<'a> {
    number: u32,
    link: &'a AtomicU32,
}

struct Table<'a> {
    map: &'a Map,
    header: &'a Header,
    buckets: &'a [AtomicU32],
}

fn bucket_count(spec: &MapSpec) -> usize {
    (spec.max_entries as usize).next_power_of_two()
}

fn buckets_bytes(spec: &MapSpec) -> usize {
    (bucket_count(spec) * size_of::<AtomicU32>()).next_multiple_of(8)
}

fn entry_bytes(spec: &MapSpec) -> usize {
    size_of::<Entry>() + padded(spec.key_size) + values::bytes(spec)
}

pub fn bytes(spec: &MapSpec) -> usize {
    size_of::<Header>() + buckets_bytes(spec) + entry_bytes(spec) * spec.max_entries as usize
}

/// Return how many places far from each other taking out an entry may touch: the entries that the hand passes lie one after
/// the other, and the one taken out is looked for in its chain.
pub fn evicting(spec: &MapSpec) -> usize {
    let passed = (PASSED * entry_bytes(spec)).div_ceil(PAGE);
    passed.min(PASSED) + 2
}

/// The address of the first value, and the bytes from one to the next.
pub fn places(map: &Map) -> (usize, usize) {
    let first = size_of::<Header>() + buckets_bytes(&map.spec);
    let start = map.base.addr() + first + size_of::<Entry>() + padded(map.spec.key_size);
    (start, entry_bytes(&map.spec))
}

pub fn lock(map: &Map) -> &Lock {
    &Table::of(map).header.lock
}

pub fn make(map: &Map) {
    let table = Table::of(map);
    let mut seed = [0; 8];
    // SAFETY: fills the eight bytes. Should it fail, chains are predictable and nothing worse.
    unsafe { libc::getrandom(seed.as_mut_ptr().cast(), seed.len(), 0) };
    table
        .header
        .seed
        .store(u64::from_ne_bytes(seed), Ordering::Relaxed);
    table.repair();
}

/// The address of a value's first copy.
pub fn first(map: &Map, key: &[u8]) -> Option<*mut u8> {
    let table = Table::of(map);
    let number = table.settled(key)?;
    if map.spec.kind.evicts() {
        table.seen(number);
    }
    Some(table.value(number))
}

pub fn update(map: &Map, key: &[u8], value: &[u8], when: Update) -> Result<(), MapError> {
    let table = Table::of(map);
    let bucket = table.bucket(key);
    table.locked(|| {
        let number = match (table.find(bucket, key), when) {
            (Some(_), Update::New) => return Err(MapError::Exists),
            (None, Update::Known) => return Err(MapError::NoEntry),
            (Some(found), _) => found.number,
            (None, _) => return table.insert(bucket, key, value),
        };
        if map.spec.kind.evicts() {
            table.seen(number);
        }
        // SAFETY: a value has as many bytes as `value`, which may be the value itself.
        unsafe {
            let place = values::own(&map.spec, table.value(number));
            place.copy_from(value.as_ptr(), value.len());
        }
        Ok(())
    })
}

pub fn delete(map: &Map, key: &[u8]) -> Result<(), MapError> {
    let table = Table::of(map);
    let bucket = table.bucket(key);
    table.locked(|| {
        let found = table.find(bucket, key).ok_or(MapError::NoEntry)?;
        table.take_out(&found);
        Ok(())
    })
}

impl<'a> Table<'a> {
    fn of(map: &'a Map) -> Self {
        // SAFETY: the map's memory begins with a header and its buckets, all of them atomic or locks.
        let (header, buckets) = unsafe {
            let first = map.base.add(size_of::<Header>()).cast();
            let buckets = std::slice::from_raw_parts(first, bucket_count(&map.spec));
            (&*map.base.cast::<Header>(), buckets)
        };
        Self {
            map,
            header,
            buckets,
        }
    }

    fn place(&self, number: u32) -> *mut u8 {
        let spec = &self.map.spec;
        // Modulo: a number read while chains change may be anything.
        let index = number.wrapping_sub(1) as usize % spec.max_entries as usize;
        let offset = size_of::<Header>() + buckets_bytes(spec) + index * entry_bytes(spec);
        // SAFETY: the index is below the number of entries.
        unsafe { self.map.base.add(offset) }
    }

    fn entry(&self, number: u32) -> &'a Entry {
        // SAFETY: entries are atomic, and aligned to 8 bytes like all their parts.
        unsafe { &*self.place(number).cast() }
    }

    fn key(&self, number: u32) -> *mut u8 {
        // SAFETY: the key follows the entry's head.
        unsafe { self.place(number).add(size_of::<Entry>()) }
    }

    fn value(&self, number: u32) -> *mut u8 {
        // SAFETY: the value follows the key.
        unsafe { self.key(number).add(padded(self.map.spec.key_size)) }
    }

    fn bucket(&self, key: &[u8]) -> &'a AtomicU32 {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.header.seed.load(Ordering::Relaxed));
        hasher.write(key);
        &self.buckets[hasher.finish() as usize & (self.buckets.len() - 1)]
    }

    /// The entry with a key. Without the lock the answer may be wrong, but it comes.
    fn find(&self, bucket: &'a AtomicU32, key: &[u8]) -> Option<Found<'a>> {
        let mut link = bucket;
        for _ in 0..MAX_CHAIN {
            let number = link.load(Ordering::Acquire);
            if number == NONE {
                return None;
            }
            // SAFETY: a key has as many bytes (checked by the caller); bytes may be read torn.
            let found = unsafe { std::slice::from_raw_parts(self.key(number), key.len()) };
            if found == key {
                return Some(Found { number, link });
            }
            link = &self.entry(number).next;
        }
        None
    }

    /// Return true if the chain has room for another entry.
    fn has_room(&self, bucket: &'a AtomicU32) -> bool {
        let mut link = bucket;
        (0..MAX_CHAIN).any(|_| {
            let number = link.load(Ordering::Relaxed);
            link = &self.entry(number).next;
            number == NONE
        })
    }

    /// The entry with a key, looked for without the lock as long as that may do.
    fn settled(&self, key: &[u8]) -> Option<u32> {
        let bucket = self.bucket(key);
        let find = || Some(self.find(bucket, key)?.number);
        for _ in 0..TRIES {
            let version = self.header.version.load(Ordering::Acquire);
            let found = find();
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && self.header.version.load(Ordering::Relaxed) == version {
                return found;
            }
            std::hint::spin_loop();
        }
        // If the lock cannot be had, the answer without it has to do.
        self.locked(|| Ok(find())).unwrap_or_else(|_| find())
    }

    /// Note that an entry was looked up.
    fn seen(&self, number: u32) {
        let state = &self.entry(number).state;
        // Most often it is noted already, and nothing is written.
        if state.load(Ordering::Relaxed) & SEEN == 0 {
            state.fetch_or(SEEN, Ordering::Relaxed);
        }
    }

    fn take_out(&self, found: &Found<'_>) {
        self.changing(|| {
            let entry = self.entry(found.number);
            entry.state.store(0, Ordering::Release);
            let after = entry.next.load(Ordering::Relaxed);
            found.link.store(after, Ordering::Relaxed);
            self.release(found.number);
        });
    }

    /// Take out an entry that was not looked up lately. All are in use.
    fn evict(&self) {
        for passed in 0..PASSED {
            let index = self.header.hand.load(Ordering::Relaxed) % self.map.spec.max_entries;
            self.header.hand.store(index + 1, Ordering::Relaxed);
            let number = index + 1;
            let state = &self.entry(number).state;
            let seen = state.fetch_and(!SEEN, Ordering::Relaxed) & SEEN != 0;
            if seen && passed + 1 < PASSED {
                continue;
            }
            // Always found, unless somebody else writes the memory.
            if let Some(link) = self.link_to(number) {
                return self.take_out(&Found { number, link });
            }
        }
    }

    /// The link in its chain that leads to an entry.
    fn link_to(&self, number: u32) -> Option<&'a AtomicU32> {
        let bytes = self.map.spec.key_size as usize;
        // SAFETY: every entry has room for a key; bytes may be read torn.
        let key = unsafe { std::slice::from_raw_parts(self.key(number), bytes) };
        let mut link = self.bucket(key);
        for _ in 0..MAX_CHAIN {
            match link.load(Ordering::Relaxed) {
                NONE => return None,
                found if found == number => return Some(link),
                other => link = &self.entry(other).next,
            }
        }
        None
    }

    fn insert(&self, bucket: &'a AtomicU32, key: &[u8], value: &[u8]) -> Result<(), MapError> {
        if self.map.spec.kind.evicts() && self.header.free.load(Ordering::Relaxed) == NONE {
            self.evict();
        }
        let number = self.header.free.load(Ordering::Relaxed);
        if number == NONE || !self.has_room(bucket) {
            return Err(MapError::TooBig);
        }
        self.changing(|| {
            let entry = self.entry(number);
            let after = entry.next.load(Ordering::Relaxed);
            self.header.free.store(after, Ordering::Relaxed);
            let (spec, first) = (&self.map.spec, self.value(number));
            // SAFETY: an entry has room for a key, and for the copies of a value, of these sizes.
            unsafe {
                self.key(number).copy_from(key.as_ptr(), key.len());
                if spec.kind.is_per_cpu() {
                    first.write_bytes(0, values::bytes(spec));
                }
                values::own(spec, first).copy_from(value.as_ptr(), value.len());
            }
            entry.state.store(USED, Ordering::Release);
            self.link(number, bucket);
        });
        Ok(())
    }

    fn link(&self, number: u32, bucket: &AtomicU32) {
        let first = bucket.load(Ordering::Relaxed);
        self.entry(number).next.store(first, Ordering::Relaxed);
        bucket.store(number, Ordering::Release);
    }

    fn release(&self, number: u32) {
        let first = self.header.free.load(Ordering::Relaxed);
        self.entry(number).next.store(first, Ordering::Relaxed);
        self.header.free.store(number, Ordering::Relaxed);
    }

    fn changing(&self, work: impl FnOnce()) {
        let version = self.header.version.load(Ordering::Relaxed);
        self.header.version.store(version | 1, Ordering::Relaxed);
        fence(Ordering::Release);
        work();
        self.header
            .version
            .store((version | 1) + 1, Ordering::Release);
    }

    fn locked<T>(&self, work: impl FnOnce() -> Result<T, MapError>) -> Result<T, MapError> {
        self.header.lock.with(|| self.repair(), work)
    }

    /// Make chains and the list of free entries again from what each entry says of itself.
    fn repair(&self) {
        self.changing(|| {
            for bucket in self.buckets {
                bucket.store(NONE, Ordering::Relaxed);
            }
            self.header.free.store(NONE, Ordering::Relaxed);
            for number in (1..=self.map.spec.max_entries).rev() {
                if self.entry(number).state.load(Ordering::Acquire) & USED == 0 {
                    self.release(number);
                    continue;
                }
                let bytes = self.map.spec.key_size as usize;
                // SAFETY: the key of an entry in use was written before it was marked.
                let key = unsafe { std::slice::from_raw_parts(self.key(number), bytes) };
                self.link(number, self.bucket(key));
            }
        });
    }
}
