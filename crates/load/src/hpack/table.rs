//! The table that indices point into (RFC 7541, section 2.3): the static part, then the dynamic one.

use std::collections::VecDeque;

use super::Fault;
use super::static_table::STATIC;

/// Bytes that an entry counts in addition to its own (RFC 7541, section 4.1).
const OVERHEAD: usize = 32;

/// The dynamic table of one direction of one connection.
///
/// The entries' bytes lie one after the other in one vector, the oldest first; evicted ones leave it
/// when they are the larger part. So steady inserting allocates nothing.
#[derive(Debug)]
pub struct Table {
    bytes: Vec<u8>,
    /// Bytes at the front of `bytes` that belong to evicted entries.
    gone: usize,
    /// The newest entry first.
    entries: VecDeque<Entry>,
    size: usize,
    max: usize,
    version: u64,
}

/// An entry's lengths and the place of its bytes behind those that are gone for good.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    name: usize,
    value: usize,
}

/// Return true if `index` points into the dynamic part.
pub fn is_dynamic(index: u64) -> bool {
    index > STATIC.len() as u64
}

impl Table {
    /// An empty table of at most `max` bytes, as section 4.1 counts them.
    pub fn new(max: usize) -> Self {
        Table {
            bytes: Vec::new(),
            gone: 0,
            entries: VecDeque::new(),
            size: 0,
            max,
            version: 0,
        }
    }

    /// A number that changes with the contents.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The name and the value at `index`.
    ///
    /// # Errors
    /// [`Fault::Index`] when there is no such entry.
    pub fn get(&self, index: u64) -> Result<(&[u8], &[u8]), Fault> {
        let index = usize::try_from(index).map_err(|_| Fault::Index)?;
        let index = index.checked_sub(1).ok_or(Fault::Index)?;
        if let Some((name, value)) = STATIC.get(index) {
            return Ok((name.as_bytes(), value.as_bytes()));
        }
        let entry = self.entries.get(index - STATIC.len()).ok_or(Fault::Index)?;
        let (name, rest) = self.bytes[entry.start..].split_at(entry.name);
        Ok((name, &rest[..entry.value]))
    }

    /// Insert an entry in front, and evict the entries that no longer fit. An entry that is too
    /// large itself leaves the table empty (RFC 7541, section 4.4). Return the size that it counts
    /// as.
    pub fn insert(&mut self, name: &[u8], value: &[u8]) -> usize {
        let size = name.len() + value.len() + OVERHEAD;
        self.evict(self.max.saturating_sub(size));
        if size > self.max {
            return size;
        }
        self.version += 1;
        self.compact();
        self.entries.push_front(Entry {
            start: self.bytes.len(),
            name: name.len(),
            value: value.len(),
        });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.size += size;
        size
    }

    /// Change the table's maximum size.
    pub fn resize(&mut self, max: usize) {
        if max != self.max {
            self.version += 1;
        }
        self.max = max;
        self.evict(max);
    }

    /// Drop the oldest entries until no more than `most` bytes are left.
    fn evict(&mut self, most: usize) {
        while self.size > most {
            let Some(entry) = self.entries.pop_back() else {
                return;
            };
            self.version += 1;
            self.gone += entry.name + entry.value;
            self.size -= entry.name + entry.value + OVERHEAD;
        }
    }

    fn compact(&mut self) {
        if self.gone * 2 > self.bytes.len() {
            self.bytes.drain(..self.gone);
            for entry in &mut self.entries {
                entry.start -= self.gone;
            }
            self.gone = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_go_first() {
        let mut table = Table::new(100);
        table.insert(b"a", b"1");
        table.insert(b"b", b"2");
        assert_eq!(table.get(62).unwrap(), (&b"b"[..], &b"2"[..]));
        assert_eq!(table.get(63).unwrap(), (&b"a"[..], &b"1"[..]));
        table.insert(b"c", b"3");
        assert_eq!(table.get(63).unwrap(), (&b"b"[..], &b"2"[..]));
        assert_eq!(table.get(64), Err(Fault::Index));
        table.resize(34);
        assert_eq!(table.get(62).unwrap(), (&b"c"[..], &b"3"[..]));
        assert_eq!(table.get(63), Err(Fault::Index));
        table.insert(b"long", b"value");
        assert_eq!(table.get(62), Err(Fault::Index));
    }

    #[test]
    fn only_a_change_makes_a_new_version() {
        let mut table = Table::new(0);
        table.insert(b"a", b"1");
        table.resize(0);
        assert_eq!(table.version(), 0);
        table.resize(50);
        table.insert(b"a", b"1");
        let version = table.version();
        assert!(version > 0);
        table.insert(b"a", b"1");
        assert!(table.version() > version);
    }

    #[test]
    fn memory_does_not_grow_with_insertions() {
        let mut table = Table::new(4096);
        for number in 0..100_000u32 {
            table.insert(b"name", number.to_string().as_bytes());
        }
        assert_eq!(table.get(62).unwrap().1, b"99999");
        assert!(
            table.bytes.capacity() <= 4 * 4096,
            "{}",
            table.bytes.capacity()
        );
        assert_eq!(table.entries.len(), 4096 / (32 + 4 + 5));
    }
}
