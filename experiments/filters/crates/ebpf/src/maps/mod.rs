//! Maps in memory that several processes share: made by one, used by all at once.
//!
//! All maps of a program lie in one piece of memory, each at a place that follows from the program's
//! declarations alone, so that a process needs the program and the memory and nothing else.

mod array;
mod events;
mod hash;
mod lock;
mod map;
mod memory;
mod thread;

use std::sync::atomic::Ordering;

use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::program::{MapKind, MapSpec};

pub use map::{Map, MapError, Update};
pub use memory::Memory;

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
            match map.spec.kind {
                MapKind::Array => array::fill(map),
                MapKind::Hash => hash::make(map),
                MapKind::Events => {}
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
            }
        });
        let maps = maps.collect();
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

fn size(spec: &MapSpec) -> usize {
    let bytes = match spec.kind {
        MapKind::Array => array::bytes(spec),
        MapKind::Hash => hash::bytes(spec),
        MapKind::Events => events::bytes(spec),
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
        ];
        hash.with(spec.name.as_bytes())
            .with(&numbers.map(u32::to_le_bytes).concat())
            .with(&spec.initial)
    };
    specs.iter().fold(Fingerprint::new(), add).number()
}

impl Map {
    /// The program's declaration of it.
    pub fn spec(&self) -> &MapSpec {
        &self.spec
    }

    /// The value of `key`, of the map's key size. It stays readable and writable as long as the map; after its
    /// entry is deleted, it may become another entry's.
    pub fn lookup(&self, key: &[u8]) -> Option<*mut u8> {
        if key.len() != self.spec.key_size as usize {
            return None;
        }
        match self.spec.kind {
            MapKind::Array => array::lookup(self, key),
            MapKind::Hash => hash::lookup(self, key),
            MapKind::Events => None,
        }
    }

    /// A copy of the value of `key`.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let value = self.lookup(key)?;
        let mut copy = vec![0; self.spec.value_size as usize];
        // SAFETY: a value has `value_size` bytes.
        unsafe { value.copy_to_nonoverlapping(copy.as_mut_ptr(), copy.len()) };
        Some(copy)
    }

    /// Write a value. A reader may meanwhile see a part of the old one, as in the kernel.
    pub fn update(&self, key: &[u8], value: &[u8], when: Update) -> Result<(), MapError> {
        let sizes = (self.spec.key_size as usize, self.spec.value_size as usize);
        if (key.len(), value.len()) != sizes {
            return Err(MapError::Invalid);
        }
        match self.spec.kind {
            MapKind::Array => array::update(self, key, value, when),
            MapKind::Hash => hash::update(self, key, value, when),
            MapKind::Events => Err(MapError::Invalid),
        }
    }

    /// Delete an entry of a hash.
    pub fn delete(&self, key: &[u8]) -> Result<(), MapError> {
        match self.spec.kind {
            MapKind::Hash if key.len() == self.spec.key_size as usize => hash::delete(self, key),
            _ => Err(MapError::Invalid),
        }
    }

    /// Add an event to a queue.
    pub fn send(&self, event: &[u8]) -> Result<(), MapError> {
        match self.spec.kind {
            MapKind::Events => events::send(self, event),
            _ => Err(MapError::Invalid),
        }
    }

    /// Take the oldest event from a queue.
    pub fn receive(&self) -> Option<Vec<u8>> {
        match self.spec.kind {
            MapKind::Events => events::receive(self),
            _ => None,
        }
    }

    /// Return how many operations gave up, because the holder of the map's lock did not go on.
    pub fn given_up(&self) -> u64 {
        match self.spec.kind {
            MapKind::Array => 0,
            MapKind::Hash => hash::lock(self).given_up(),
            MapKind::Events => events::lock(self).given_up(),
        }
    }

    /// Return true if `bytes` bytes at `address` are in one value of the map.
    pub(crate) fn has(&self, address: u64, bytes: u64) -> bool {
        let (start, stride, count) = match self.spec.kind {
            MapKind::Array => (
                self.base.addr(),
                array::stride(&self.spec),
                self.spec.max_entries,
            ),
            MapKind::Hash => hash::values(self),
            MapKind::Events => return false,
        };
        let Some(distance) = address.checked_sub(start as u64) else {
            return false;
        };
        let (index, within) = (distance / stride as u64, distance % stride as u64);
        index < u64::from(count) && within + bytes <= u64::from(self.spec.value_size)
    }

    /// The address of the first value of an array, and the bytes from one to the next.
    pub(crate) fn array(&self) -> Option<(*mut u8, usize)> {
        (self.spec.kind == MapKind::Array).then(|| (self.base, array::stride(&self.spec)))
    }
}
