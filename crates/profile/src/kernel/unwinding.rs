//! Gives the BPF programs the rules by which they follow callers: each file's once, and each process's mappings.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::libbpf_sys::{BPF_F_INNER_MAP, bpf_map_create_opts};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use object::ReadCache;

use super::programs::Programs;
use crate::memory::{Content, Mapping, Memory};
use crate::unwind::Table;
use crate::vdso;

/// The most mappings with rules of a process, and files with rules; as in unwind.bpf.h.
const MOST_MAPPINGS: usize = 256;
const MOST_TABLES: u32 = 4096;
const MOST_ROWS: usize = 1 << 24;

/// A file's rules, and their number among all files.
type Known = Option<(u32, Table)>;

/// The rules that the BPF programs have.
#[derive(Debug)]
pub struct Unwinding {
    tables: MapHandle,
    memories: MapHandle,
    known: HashMap<(String, u64), Known>,
}

impl Unwinding {
    /// Begin without any.
    pub fn of(programs: &Programs) -> Self {
        Self {
            tables: programs.table("unwinding"),
            memories: programs.table("memories"),
            known: HashMap::new(),
        }
    }

    /// Give the rules of all files that a process has mapped. Callers in other code are found by frame pointer.
    pub fn follow(&mut self, process: u32, memory: &Memory) {
        let mut ranges: Vec<[u64; 4]> = Vec::new();
        for mapping in memory.mappings() {
            let apart = ranges
                .iter()
                .all(|&[start, end, ..]| mapping.end <= start || end <= mapping.start);
            // Newer ones come first.
            if let (true, Some(range)) = (apart, self.range(mapping)) {
                ranges.push(range);
            }
        }
        ranges.sort_unstable();
        ranges.truncate(MOST_MAPPINGS);
        let mut value = vec![0; 8 + MOST_MAPPINGS * 32];
        let words = [ranges.len() as u64]
            .into_iter()
            .chain(ranges.into_iter().flatten());
        for (place, word) in value.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        // Without room the process's callers are found by frame pointer.
        let _ = self
            .memories
            .update(&process.to_ne_bytes(), &value, MapFlags::ANY);
    }

    /// A `struct mapping` as words.
    fn range(&mut self, mapping: &Mapping) -> Option<[u64; 4]> {
        let key = match &mapping.content {
            Content::File(module) => module.identity.clone(),
            Content::Named(name) if name == "[vdso]" => (name.clone(), 0),
            Content::Named(_) | Content::Anonymous => return None,
        };
        if !self.known.contains_key(&key) {
            let made = self.make(&mapping.content);
            self.known.insert(key.clone(), made);
        }
        let (number, table) = self.known[&key].as_ref()?;
        let base = table.base(mapping.start, mapping.offset)?;
        let rows = table.rows.len() as u64;
        Some([mapping.start, mapping.end, base, half_words(*number, rows)])
    }

    fn make(&self, content: &Content) -> Known {
        let table = match content {
            Content::File(module) => Table::of(&ReadCache::new(module.file())),
            Content::Named(_) | Content::Anonymous => Table::of(&vdso::bytes()?[..]),
        }?;
        let number = self.known.values().flatten().count() as u32;
        (number < MOST_TABLES && table.rows.len() <= MOST_ROWS).then_some(())?;
        self.give(number, &table)?;
        Some((number, table))
    }

    /// Hand a table over. None if the kernel does not take it.
    fn give(&self, number: u32, table: &Table) -> Option<()> {
        let options = bpf_map_create_opts {
            sz: size_of::<bpf_map_create_opts>() as _,
            map_flags: BPF_F_INNER_MAP,
            ..Default::default()
        };
        let count = table.rows.len() as u32;
        let inner = MapHandle::create(MapType::Array, Some("rules"), 4, 8, count, &options).ok()?;
        let keys: Vec<u8> = (0..count).flat_map(u32::to_ne_bytes).collect();
        let values: Vec<u8> = table.rows.iter().flat_map(|row| row.bytes()).collect();
        inner
            .update_batch(&keys, &values, count, MapFlags::ANY, MapFlags::ANY)
            .ok()?;
        let descriptor = inner.as_fd().as_raw_fd();
        self.tables
            .update(
                &number.to_ne_bytes(),
                &descriptor.to_ne_bytes(),
                MapFlags::ANY,
            )
            .ok()
    }
}

/// Two numbers of 32 bits in one word, as they stand in memory.
fn half_words(first: u32, second: u64) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&(second as u32).to_ne_bytes());
    u64::from_ne_bytes(bytes)
}
