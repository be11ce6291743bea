//! Tests of a guest's memory.

use super::super::areas::PAGE;
use super::*;

use std::os::unix::fs::FileExt;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const WINDOW: u64 = 4 * TABLE;

fn whole(memory: &Memory) -> Vec<u8> {
    let (base, size) = memory.whole();
    // SAFETY: all of it is mapped, and nobody writes meanwhile.
    unsafe { std::slice::from_raw_parts(base as *const u8, size as usize).to_vec() }
}

/// Whether each page is there at once.
fn present(memory: &Memory) -> Vec<bool> {
    let (base, size) = memory.whole();
    let file = std::fs::File::open("/proc/self/pagemap").unwrap();
    let mut entries = vec![0; (size / PAGE) as usize * 8];
    file.read_exact_at(&mut entries, base / PAGE * 8).unwrap();
    // The highest bit of each entry.
    entries
        .chunks(8)
        .map(|entry| entry[7] & 0x80 != 0)
        .collect()
}

fn open() -> Access {
    Access::from_bits(3)
}

#[test]
fn what_lies_beyond_the_window_has_no_memory() {
    let mut memory = Memory::new(WINDOW).unwrap();
    let place = memory.place(WINDOW, LOWEST, WINDOW).unwrap();
    assert!(place >= BEYOND && memory.mappable(&(place..place + WINDOW)));
    assert!(memory.set(place..place + WINDOW, Some(open())));
    assert_eq!(memory.find(place, 1, true), None);
    assert!(!memory.backs(place));
    assert!(!memory.mappable(&(WINDOW - PAGE..WINDOW + PAGE)));
    assert!(!memory.mappable(&(0..PAGE)));
}

#[test]
fn a_large_page_of_the_guest_can_be_one_of_the_host() {
    // One alone may lie right by chance.
    let memories: Vec<_> = (1..6)
        .map(|tables| Memory::new(tables * TABLE).unwrap())
        .collect();
    assert!(memories.iter().all(|memory| memory.whole().0 % TABLE == 0));
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(23), ..ProptestConfig::with_cases(12) })]

    /// Whatever a guest does to its memory, all of it, tables included, is afterwards as before, and
    /// as much of it is there at once.
    #[test]
    fn a_reset_brings_every_byte_back(
        before in prop::collection::vec((0u64..600, any::<u8>()), 0..20),
        calls in prop::collection::vec(
            prop::collection::vec((0u64..700, 1u64..90, 0u8..6, any::<u8>()), 0..40), 1..4),
    ) {
        let mut memory = Memory::new(WINDOW).unwrap();
        let at = |page: u64| LOWEST + page * PAGE;
        prop_assert!(memory.set(at(0)..at(600), Some(open())));
        for (page, byte) in before {
            prop_assert!(memory.write(at(page) + 9, &[byte]));
        }
        let expected = whole(&memory);
        memory.freeze().unwrap();
        let ready = present(&memory);
        prop_assert!(expected == whole(&memory));
        for call in calls {
            for (page, count, what, byte) in call {
                let range = at(page)..at(page + count);
                match what {
                    0 => prop_assert!(memory.set(range, None)),
                    1 => {
                        prop_assert!(memory.set(range.clone(), None) && memory.set(range.clone(), Some(open())));
                        let fresh = memory.find(range.start, count * PAGE, false).unwrap();
                        // SAFETY: `find` says that they are there.
                        let fresh = unsafe { std::slice::from_raw_parts(fresh, (count * PAGE) as usize) };
                        prop_assert!(fresh.iter().all(|byte| *byte == 0));
                    }
                    2 => prop_assert!(memory.set(range, Some(Access::from_bits(1)))),
                    _ => {
                        let bytes = vec![byte; (count * PAGE) as usize - 3];
                        memory.place_bytes(range.start + 3, &bytes);
                    }
                }
            }
            memory.reset().unwrap();
            prop_assert!(ready == present(&memory));
            prop_assert!(expected == whole(&memory));
            prop_assert!(memory.areas.all(at(0)..at(600), |access| access == open()));
            prop_assert!(memory.areas.none(at(600)..WINDOW));
        }
    }
}
