//! Maps in memory that several processes share: made by one, used by all at once.
//!
//! All maps of a program lie in one piece of memory, each at a place that follows from the program's
//! declarations alone, so that a process needs the program and the memory and nothing else.

mod array;
mod cpu;
mod events;
mod hash;
mod lock;
mod map;
mod memory;
mod named;
mod record;
mod reserved;
mod thread;
mod values;

use std::ptr;
use std::sync::atomic::Ordering;

use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::map_spec::{MapKind, MapSpec};

pub use map::{Map, MapError, Update};
pub use memory::{Memory, POPULATED};
pub use named::SIZE as NAME_SIZE;
pub use reserved::MAX_RESERVED;
pub(crate) use reserved::discard as discard_reserved;

/// The reason why memory does not hold a program's maps.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum AttachError {
    /// Too small, or misaligned.
    #[error("the memory has {found} bytes at this alignment, the maps need {needed} aligned to 64")]
    Size {
        /// The bytes that there are.
        found: usize,
        /// The bytes that the maps take.
        needed: usize,
    },
    /// Nobody has made the maps yet.
    #[error("the maps in the memory are not made yet; start what makes them first")]
    Unmade,
    /// Maps of other declarations, or something else altogether.
    #[error("the memory holds another program's maps, or none; make it anew with this program")]
    Foreign,
    /// A map that cannot take the names of its declaration.
    #[error("the names that a map declares cannot be put in: {0}")]
    Names(MapError),
}

/// Return how many copies of each value a map has.
pub(crate) fn copies(spec: &MapSpec) -> u64 {
    values::copies(spec) as u64
}

/// Return how many places far from each other taking out an entry may touch in a hash that evicts.
pub(crate) fn evicting(spec: &MapSpec) -> u64 {
    hash::evicting(spec) as u64
}

/// The maps of one program.
#[derive(Debug)]
pub struct Maps {
    maps: Box<[Map]>,
    // Dropped last: the maps point into it.
    _memory: Memory,
}

const ALIGN: usize = 64;

impl Maps {
    /// Bytes that the maps take.
    pub fn bytes(specs: &[MapSpec]) -> usize {
        ALIGN + specs.iter().map(size).sum::<usize>()
    }

    /// Make the maps in `memory`, which is zeroed or holds earlier ones that are lost.
    pub fn make(specs: &[MapSpec], memory: Memory) -> Result<Self, AttachError> {
        let maps = Self::place(specs, memory)?;
        let header = maps._memory.header();
        header.ready.store(0, Ordering::Relaxed);
        for map in &maps.maps {
            // SAFETY: `place` checked that each map's bytes are in the memory; nobody uses them yet.
            unsafe { map.base.write_bytes(0, size(&map.spec)) };
            if map.spec.kind.is_hash() {
                hash::make(map);
            }
            match map.spec.kind {
                MapKind::Array => array::fill(map),
                kind if kind.names() => named::fill(map).map_err(AttachError::Names)?,
                _ => {}
            }
        }
        header
            .declarations
            .store(fingerprint(specs), Ordering::Relaxed);
        header.ready.store(READY, Ordering::Release);
        Ok(maps)
    }

    /// Find the maps that another process, with the same program, made in `memory`.
    pub fn attach(specs: &[MapSpec], memory: Memory) -> Result<Self, AttachError> {
        let maps = Self::place(specs, memory)?;
        let header = maps._memory.header();
        let ready = header.ready.load(Ordering::Acquire);
        let found = header.declarations.load(Ordering::Relaxed);
        match ready {
            0 => Err(AttachError::Unmade),
            READY if found == fingerprint(specs) => Ok(maps),
            _ => Err(AttachError::Foreign),
        }
    }

    /// Map in memory of their own, shared with processes that are forked later.
    pub fn anonymous(specs: &[MapSpec]) -> std::io::Result<Self> {
        let memory = Memory::anonymous(Self::bytes(specs))?;
        Self::make(specs, memory).map_err(std::io::Error::other)
    }

    /// Have every page of the maps there, up to [`POPULATED`] bytes, in a process that was forked after they were mapped:
    /// no run has to wait for one. Otherwise they already are.
    pub fn populate(&self) {
        self._memory.populate();
    }

    fn place(specs: &[MapSpec], memory: Memory) -> Result<Self, AttachError> {
        let needed = Self::bytes(specs);
        if memory.len() < needed || !memory.base().addr().is_multiple_of(ALIGN) {
            return Err(AttachError::Size {
                found: memory.len(),
                needed,
            });
        }
        let mut offset = ALIGN;
        let maps = specs.iter().map(|spec| {
            // SAFETY: the sizes add up to no more than `needed`, which is in the memory.
            let base = unsafe { memory.base().add(offset) };
            offset += size(spec);
            Map {
                spec: spec.clone(),
                base,
                inner: Box::default(),
            }
        });
        let mut maps: Box<[Map]> = maps.collect();
        let addresses: Vec<*const Map> = maps.iter().map(ptr::from_ref).collect();
        for map in maps.iter_mut().filter(|map| map.spec.kind.names_maps()) {
            let choices = map.spec.choices.iter();
            map.inner = choices.map(|&number| addresses[number]).collect();
        }
        Ok(Self {
            maps,
            _memory: memory,
        })
    }

    /// The maps by their number.
    pub fn all(&self) -> &[Map] {
        &self.maps
    }

    /// The map that a program calls `name`.
    pub fn by_name(&self, name: &str) -> Option<&Map> {
        self.maps.iter().find(|map| map.spec.name == name)
    }
}

/// Stored last when maps are made.
const READY: u64 = u64::from_le_bytes(*b"ebpfmap2");

/// Return the bytes that a map takes.
pub(crate) fn size(spec: &MapSpec) -> usize {
    let bytes = match spec.kind {
        MapKind::Events => events::bytes(spec),
        kind if kind.is_hash() => hash::bytes(spec),
        _ => array::bytes(spec),
    };
    bytes.next_multiple_of(ALIGN)
}

/// Return a number of all that decides where in the memory the maps lie and what is in them.
fn fingerprint(specs: &[MapSpec]) -> u64 {
    let add = |hash: Fingerprint, spec: &MapSpec| {
        let numbers = [
            spec.kind as u32,
            spec.key_size,
            spec.value_size,
            spec.max_entries,
            u32::from(spec.read_only),
            values::copies(spec) as u32,
        ];
        let choices = spec.choices.iter().flat_map(|choice| choice.to_le_bytes());
        hash.with(spec.name.as_bytes())
            .with(&numbers.map(u32::to_le_bytes).concat())
            .with(&spec.initial)
            .with(&choices.collect::<Vec<u8>>())
    };
    specs.iter().fold(Fingerprint::new(), add).number()
}

impl Map {
    /// The program's declaration of it.
    pub fn spec(&self) -> &MapSpec {
        &self.spec
    }

    /// The value of `key`, of the map's key size; in a map per CPU, the copy of the running thread's. It stays
    /// readable and writable as long as the map; after its entry is deleted, it may become another entry's.
    pub fn lookup(&self, key: &[u8]) -> Option<*mut u8> {
        let first = self.first(key)?;
        // SAFETY: the address of a value.
        Some(unsafe { values::own(&self.spec, first) })
    }

    fn first(&self, key: &[u8]) -> Option<*mut u8> {
        if key.len() != self.spec.key_size as usize {
            return None;
        }
        match self.spec.kind {
            MapKind::Events => None,
            kind if kind.is_hash() => hash::first(self, key),
            _ => array::first(self, key),
        }
    }

    /// The map that the value of `key` names.
    pub(crate) fn named(&self, key: &[u8]) -> Option<&Map> {
        let inner = self.inner.get(self.choice(key)?)?;
        // SAFETY: maps point at others of the same program only, which live as long.
        Some(unsafe { &**inner })
    }

    /// The place in the map's list of choices that the value of `key` names.
    pub(crate) fn choice(&self, key: &[u8]) -> Option<usize> {
        // SAFETY: the address of a value; only maps with names have choices, and are asked.
        unsafe { named::place(self.first(key)?) }
    }

    /// A copy of the value of `key`; in a map per CPU, of the running thread's.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.copy(self.lookup(key)?)
    }

    /// Copies of the value of `key`: in a map per CPU one for each processor, otherwise one.
    pub fn get_each(&self, key: &[u8]) -> Option<Vec<Vec<u8>>> {
        let first = self.first(key)?;
        let copies = 0..values::copies(&self.spec);
        let place = |copy| first.wrapping_add(copy * values::stride(&self.spec));
        copies.map(|copy| self.copy(place(copy))).collect()
    }

    fn copy(&self, value: *mut u8) -> Option<Vec<u8>> {
        let mut copy = vec![0; self.spec.value_size as usize];
        // SAFETY: a value has `value_size` bytes.
        unsafe { value.copy_to_nonoverlapping(copy.as_mut_ptr(), copy.len()) };
        Some(copy)
    }

    /// Write a value; in a map per CPU, the copy of the running thread's. A reader may meanwhile see a part
    /// of the old one, as in the kernel.
    pub fn update(&self, key: &[u8], value: &[u8], when: Update) -> Result<(), MapError> {
        let sizes = (self.spec.key_size as usize, self.spec.value_size as usize);
        if (key.len(), value.len()) != sizes {
            return Err(MapError::Invalid);
        }
        match self.spec.kind {
            MapKind::Events => Err(MapError::Invalid),
            kind if kind.is_hash() => hash::update(self, key, value, when),
            _ => array::update(self, key, value, when),
        }
    }

    /// Delete an entry of a hash.
    pub fn delete(&self, key: &[u8]) -> Result<(), MapError> {
        if self.spec.kind.is_hash() && key.len() == self.spec.key_size as usize {
            return hash::delete(self, key);
        }
        Err(MapError::Invalid)
    }

    /// Add an event to a queue.
    pub fn send(&self, event: &[u8]) -> Result<(), MapError> {
        match self.spec.kind {
            MapKind::Events => events::send(self, event),
            _ => Err(MapError::Invalid),
        }
    }

    /// Reserve bytes of a queue for the running thread, which has to finish them.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<*mut u8, MapError> {
        match self.spec.kind {
            MapKind::Events => events::reserve(self, bytes),
            _ => Err(MapError::Invalid),
        }
    }

    /// Return an answer about a queue, by the kernel's number of the question.
    pub(crate) fn query(&self, what: u64) -> u64 {
        match self.spec.kind {
            MapKind::Events => events::query(self, what),
            _ => 0,
        }
    }

    /// Take the oldest event from a queue. One that is reserved and not finished holds up all later ones.
    pub fn receive(&self) -> Option<Vec<u8>> {
        match self.spec.kind {
            MapKind::Events => events::receive(self),
            _ => None,
        }
    }

    /// Return how many operations gave up, because the holder of the map's lock did not go on.
    pub fn given_up(&self) -> u64 {
        match self.spec.kind {
            MapKind::Events => events::lock(self).given_up(),
            kind if kind.is_hash() => hash::lock(self).given_up(),
            _ => 0,
        }
    }

    /// Return true if `bytes` bytes at `address` are in one copy of one value of the map.
    pub(crate) fn has(&self, address: u64, bytes: u64) -> bool {
        let (start, all) = match self.spec.kind {
            MapKind::Events => return false,
            kind if kind.is_hash() => hash::places(self),
            _ => (self.base.addr(), values::bytes(&self.spec)),
        };
        let Some(distance) = address.checked_sub(start as u64) else {
            return false;
        };
        let (index, within) = (distance / all as u64, distance % all as u64);
        let stride = values::stride(&self.spec) as u64;
        let (copy, within) = (within / stride, within % stride);
        index < u64::from(self.spec.max_entries)
            && copy < values::copies(&self.spec) as u64
            && within + bytes <= u64::from(self.spec.value_size)
    }

    /// The address of the first value of an array with one copy, and the bytes from one to the next.
    pub(crate) fn array(&self) -> Option<(*mut u8, usize)> {
        let plain = matches!(self.spec.kind, MapKind::Array | MapKind::Programs);
        plain.then(|| (self.base, values::stride(&self.spec)))
    }
}

/// Hand a reserved record over to readers, or take it back.
///
/// # Safety
/// The bytes must be those of a record that [`Map::reserve`] gave to this thread.
pub(crate) unsafe fn finish(bytes: *mut u8, discard: bool) {
    // SAFETY: as the caller promises.
    let record = unsafe { record::Record::of(bytes) };
    reserved::remove(record);
    record.finish(discard);
}
