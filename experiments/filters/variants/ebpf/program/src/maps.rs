//! The maps of the filter's program, as filter.bpf.c declares them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use filter_controller::layout::{Counts, Prefix, publish};
use filter_ebpf::maps::Maps;
use filter_ebpf::program::{MapKind, MapSpec};

/// Name, entries, and bytes of a value.
const EXPECTED: [(&str, u32, usize); 3] = [
    (PREFIXES, 2, size_of::<Prefix>()),
    (GENERATIONS, 1, size_of::<u64>()),
    (COUNTERS, 2, 64),
];
const PREFIXES: &str = "prefixes";
const GENERATIONS: &str = "generations";
const COUNTERS: &str = "counters";

/// Check that a program has the maps that a controller needs.
pub fn check(specs: &[MapSpec]) -> Result<()> {
    for (name, entries, bytes) in EXPECTED {
        let fits = |spec: &MapSpec| {
            let sizes = (spec.max_entries, spec.value_size as usize);
            spec.name == name && spec.kind == MapKind::Array && sizes == (entries, bytes)
        };
        if !specs.iter().any(fits) {
            bail!(
                "it has no array {name:?} of {entries} values of {bytes} bytes; declare it as filter.bpf.c does"
            );
        }
    }
    Ok(())
}

/// The maps that [`check`] found. All that works on them is atomic.
pub struct FilterMaps(Arc<Maps>);

impl FilterMaps {
    /// For maps whose declarations [`check`] accepted.
    pub fn new(maps: Arc<Maps>) -> Result<Self> {
        let specs: Vec<MapSpec> = maps.all().iter().map(|map| map.spec().clone()).collect();
        check(&specs)?;
        Ok(Self(maps))
    }

    /// All maps of the program.
    pub fn all(&self) -> &Arc<Maps> {
        &self.0
    }

    /// Return the program's decisions so far.
    pub fn counts(&self) -> Counts {
        Counts {
            accepted: self.counter(0)[0].load(Ordering::Relaxed),
            rejected: self.counter(1)[0].load(Ordering::Relaxed),
            failed: self.counter(1)[1].load(Ordering::Relaxed),
        }
    }

    /// Count a rejection for the program, which came to no end.
    pub fn count_failure(&self) {
        for count in self.counter(1) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Put a prefix in force. One writer at a time.
    pub fn publish(&self, prefix: &[u8]) {
        // SAFETY: both types are the values' of these maps, and all their fields are atomic.
        let (generation, slots) = unsafe {
            let slot = |index| &*self.value(PREFIXES, index).cast::<Prefix>();
            let generation = &*self.value(GENERATIONS, 0).cast::<AtomicU64>();
            (generation, [slot(0), slot(1)])
        };
        publish(generation, slots, prefix);
    }

    /// The count, and for how many of it the program failed.
    fn counter(&self, index: u32) -> &[AtomicU64; 2] {
        // SAFETY: a counter's value begins with two aligned numbers that all change atomically.
        unsafe { &*self.value(COUNTERS, index).cast() }
    }

    /// The address of a value, aligned to 8 bytes, which lives as long as the maps.
    fn value(&self, name: &str, index: u32) -> *mut u8 {
        let map = self.0.by_name(name);
        map.and_then(|map| map.lookup(&index.to_le_bytes()))
            .expect("`new` checked that the map is there, with as many entries")
    }
}
