//! The guest's used addresses and their access rights, as `mmap` and related calls change them.

use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// Areas that a guest may have, so that the table itself stays small; Linux's own default.
const AREAS_MAX: usize = 65_530;

/// The guest's rights at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Read it.
    pub read: bool,
    /// Write it.
    pub write: bool,
    /// Execute it.
    pub execute: bool,
}

impl Access {
    /// From the bits of `mmap`.
    pub fn from_bits(bits: u64) -> Self {
        let has = |bit: i32| bits & bit as u64 != 0;
        Access {
            read: has(libc::PROT_READ),
            write: has(libc::PROT_WRITE),
            execute: has(libc::PROT_EXEC),
        }
    }

    /// Return true if any use is allowed; what may be written or executed can be read on this processor.
    pub fn any(self) -> bool {
        self.read || self.write || self.execute
    }
}

/// Areas of whole pages that do not overlap.
#[derive(Clone, Debug, Default)]
pub struct Areas(BTreeMap<u64, (u64, Access)>);

impl Areas {
    /// Put `range` to a use, or (none) out of use. False, and nothing changed, if that takes too many
    /// areas.
    pub fn set(&mut self, range: Range<u64>, access: Option<Access>) -> bool {
        if range.is_empty() {
            return true;
        }
        if self.0.len() + 2 > AREAS_MAX {
            return false;
        }
        self.split(range.start);
        self.split(range.end);
        while let Some((&start, _)) = self.0.range(range.clone()).next() {
            self.0.remove(&start);
        }
        if let Some(access) = access {
            let (mut start, mut end) = (range.start, range.end);
            if let Some((&before, &(its_end, its_access))) = self.0.range(..start).next_back()
                && its_end == start
                && its_access == access
            {
                start = before;
            }
            if let Some(&(its_end, its_access)) = self.0.get(&end)
                && its_access == access
            {
                self.0.remove(&end);
                end = its_end;
            }
            self.0.insert(start, (end, access));
        }
        true
    }

    /// Make sure that no area lies across `at`.
    fn split(&mut self, at: u64) {
        let Some((_, area)) = self.0.range_mut(..at).next_back() else {
            return;
        };
        if area.0 > at {
            let rest = *area;
            area.0 = at;
            self.0.insert(at, rest);
        }
    }

    /// The parts of `range` that are in use.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, Access)> + '_ {
        let first = self.0.range(..range.start).next_back();
        let first = first.filter(|(_, (end, _))| *end > range.start);
        let rest = self.0.range(range.start..range.end.max(range.start));
        first
            .into_iter()
            .chain(rest)
            .map(move |(&start, &(end, access))| {
                (start.max(range.start)..end.min(range.end), access)
            })
    }

    /// Return true if all of `range` is in use, and each part as `wanted`.
    pub fn all(&self, range: Range<u64>, wanted: impl Fn(Access) -> bool) -> bool {
        let mut next = range.start;
        for (part, access) in self.within(range.clone()) {
            if part.start != next || !wanted(access) {
                return false;
            }
            next = part.end;
        }
        next >= range.end
    }

    /// Return true if nothing of `range` is in use.
    pub fn none(&self, range: Range<u64>) -> bool {
        self.within(range).next().is_none()
    }

    /// The highest place for `length` bytes within `room`.
    pub fn place(&self, length: u64, room: Range<u64>) -> Option<u64> {
        let mut end = room.end;
        for (&start, &(its_end, _)) in self.0.range(..room.end).rev() {
            let gap = its_end.max(room.start).min(end);
            if end - gap >= length {
                return Some(end - length);
            }
            end = end.min(start);
            if end <= room.start {
                return None;
            }
        }
        (end.saturating_sub(room.start) >= length).then(|| end - length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    const PAGES: u64 = 40;

    fn accesses() -> impl Strategy<Value = Option<Access>> {
        proptest::option::of((0u64..8).prop_map(Access::from_bits))
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(21), ..ProptestConfig::with_cases(256) })]

        #[test]
        fn areas_are_what_an_array_of_pages_says(
            changes in prop::collection::vec((0..PAGES, 0..PAGES, accesses()), 0..30), asked in (0..PAGES, 1..PAGES),
        ) {
            let mut areas = Areas::default();
            let mut pages = [None; PAGES as usize];
            for (start, end, access) in changes {
                prop_assert!(areas.set(start * PAGE..end * PAGE, access));
                for page in start..end {
                    pages[page as usize] = access;
                }
            }
            for page in 0..PAGES {
                let range = page * PAGE..(page + 1) * PAGE;
                let found = areas.within(range.clone()).next().map(|(_, access)| access);
                prop_assert_eq!(found, pages[page as usize]);
                prop_assert_eq!(areas.none(range), found.is_none());
            }
            let (start, count) = asked;
            let range = start * PAGE..(start + count).min(PAGES) * PAGE;
            let here = &pages[start as usize..(start + count).min(PAGES) as usize];
            prop_assert_eq!(areas.all(range.clone(), |each| each.write), here.iter().all(|each| each.is_some_and(|each| each.write)));
            let found = areas.place(count * PAGE, 0..PAGES * PAGE).map(|place| place / PAGE);
            let free = |first: u64| pages[first as usize..(first + count) as usize].iter().all(Option::is_none);
            let expected = (0..=PAGES - count).rev().find(|first| free(*first));
            prop_assert_eq!(found, expected);
        }
    }
}
