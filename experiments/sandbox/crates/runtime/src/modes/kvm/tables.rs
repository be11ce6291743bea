//! A guest's page tables: where they lie behind its window, and what they say. Every address stands for
//! itself. All ways down to the last level are there from the beginning; a whole table's worth of memory
//! that is mapped at once gets one entry above it instead, a large page.

use std::ops::Range;

use super::areas::{Access, PAGE};

/// Bytes that one table of the last level stands for, or one large page.
pub const TABLE: u64 = 512 * PAGE;
/// Bytes that one directory, the level above, stands for.
const DIRECTORY: u64 = 512 * TABLE;

const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
/// Accessed and dirty, so that the processor has nothing to note.
const USED: u64 = 3 << 5;
const LARGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;

/// The tables of a window. What they say is handed out as entries and the addresses to write them to.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    window: u64,
}

impl Tables {
    /// Those of the addresses from 0 to `window`, whole tables' worth.
    pub fn new(window: u64) -> Self {
        Tables { window }
    }

    /// Return the address of the processor's top-level table: the last page.
    pub fn root(self) -> u64 {
        self.pointers() + PAGE
    }

    /// Bytes of the window and the tables.
    pub fn end(self) -> u64 {
        self.root() + PAGE
    }

    fn directories(self) -> u64 {
        self.window + self.window / TABLE * PAGE
    }

    fn pointers(self) -> u64 {
        self.directories() + self.window.div_ceil(DIRECTORY) * PAGE
    }

    fn way_to_table(self, index: u64) -> u64 {
        lead(self.window + index * PAGE)
    }

    /// Return the entries of an empty window: they lead to tables in which nothing is mapped.
    pub fn beginning(self) -> impl Iterator<Item = (u64, u64)> {
        let tables = (0..self.window / TABLE)
            .map(move |index| (self.directories() + 8 * index, self.way_to_table(index)));
        let directories = (0..self.window.div_ceil(DIRECTORY)).map(move |index| {
            let directory = self.directories() + index * PAGE;
            (self.pointers() + 8 * index, lead(directory))
        });
        let root = (self.root(), lead(self.pointers()));
        tables.chain(directories).chain([root])
    }

    /// Return the entries that map `range` of the window with these rights, or (none) unmap it.
    pub fn mapping(
        self,
        range: Range<u64>,
        access: Option<Access>,
    ) -> impl Iterator<Item = (u64, u64)> {
        let rights = access.filter(|access| access.any()).map(|access| {
            let write = if access.write { WRITABLE } else { 0 };
            let execute = if access.execute { 0 } else { NO_EXECUTE };
            PRESENT | USER | USED | write | execute
        });
        let pages = range.clone().step_by(PAGE as usize).map(move |page| {
            let entry = rights.map_or(0, |rights| page | rights);
            (self.window + page / PAGE * 8, entry)
        });
        let touched = range.start / TABLE..range.end.div_ceil(TABLE);
        let ways = touched.map(move |index| {
            let all = index * TABLE..(index + 1) * TABLE;
            let whole = range.start <= all.start && all.end <= range.end;
            let large = rights
                .filter(|_| whole)
                .map(|rights| all.start | LARGE | rights);
            let entry = large.unwrap_or_else(|| self.way_to_table(index));
            (self.directories() + 8 * index, entry)
        });
        pages.chain(ways)
    }
}

/// An entry that leads to the next level.
fn lead(to: u64) -> u64 {
    to | PRESENT | WRITABLE | USER | USED
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use std::collections::HashMap;

    const WINDOW: u64 = 5 * TABLE;

    /// Return the page and the rights that the processor finds for an address, as its manuals
    /// describe.
    fn walk(memory: &HashMap<u64, u64>, root: u64, address: u64) -> Option<Access> {
        const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
        let mut table = root;
        let mut access = Access {
            read: true,
            write: true,
            execute: true,
        };
        for shift in [39, 30, 21, 12] {
            let entry = memory
                .get(&(table + (address >> shift & 511) * 8))
                .copied()
                .unwrap_or(0);
            if entry & PRESENT == 0 {
                return None;
            }
            assert!(entry & USER != 0 && entry & USED == USED);
            access.write &= entry & WRITABLE != 0;
            access.execute &= entry & NO_EXECUTE == 0;
            table = entry & ADDRESS;
            if shift == 12 || shift == 21 && entry & LARGE != 0 {
                assert_eq!(table, address >> shift << shift);
                return Some(access);
            }
        }
        unreachable!()
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(25), ..ProptestConfig::with_cases(64) })]

        #[test]
        fn the_processor_finds_what_was_mapped_last(
            changes in prop::collection::vec((0u64..2560, 1u64..1500, proptest::option::of(0u64..8)), 0..12),
        ) {
            let tables = Tables::new(WINDOW);
            let mut memory: HashMap<u64, u64> = tables.beginning().collect();
            let mut expected = vec![None; (WINDOW / PAGE) as usize];
            for (start, count, access) in changes {
                let (access, end) = (access.map(Access::from_bits), (start + count).min(2560));
                memory.extend(tables.mapping(start * PAGE..end * PAGE, access));
                let found = access.filter(|access| access.any());
                expected[start as usize..end as usize].fill(found.map(|access| Access { read: true, ..access }));
            }
            prop_assert!(memory.keys().all(|at| (WINDOW..tables.end()).contains(at)));
            for (page, expected) in (0..).zip(expected) {
                prop_assert_eq!(walk(&memory, tables.root(), page * PAGE), expected, "page {}", page);
            }
        }
    }
}
