//! Places of maps that are too far away for the processor's caches, and how many a helper's call touches.
//!
//! A map's places are as far away as the maps that are no larger take room together: those stay in the caches
//! whatever else a run touches, since each access of a larger map is paid for by itself.

use super::facts::Touched;
use crate::fuel;
use crate::helpers::{Argument, Helper};
use crate::maps;
use crate::program::{MapKind, MapSpec};

/// Places that finding an entry of a hash touches: its chain's head, one entry before it and the entry.
const FOUND: u64 = 3;
/// Places of a queue: its head, and where the record goes.
const QUEUE: u64 = 2;

/// The weight of a place of each map, and of one in whatever map.
pub struct Distances {
    maps: Vec<u64>,
    any: u64,
}

impl Distances {
    /// Of the maps of a program.
    pub fn of(specs: &[MapSpec]) -> Self {
        let sizes: Vec<usize> = specs.iter().map(maps::size).collect();
        let below = |size: usize| sizes.iter().filter(|&&other| other <= size).sum();
        Self {
            maps: sizes
                .iter()
                .map(|&size| fuel::access(below(size)))
                .collect(),
            any: fuel::access(sizes.iter().sum()),
        }
    }

    /// Return the weight of what a load or store touches, on top of the instruction's.
    pub fn access(&self, touched: Touched) -> u64 {
        match touched {
            Touched::Elsewhere | Touched::Foreign => self.any,
            Touched::None | Touched::Context(_) | Touched::Window | Touched::Own { .. } => 0,
        }
    }

    /// Return the weight of the places that a helper's call touches: in the map by its number, and where its
    /// arguments are.
    pub fn helper(&self, helper: Helper, (map, spec): (usize, &MapSpec), touched: Touched) -> u64 {
        places(helper, spec) * self.maps[map] + self.arguments(helper, touched)
    }

    /// Return the weight of the places where a helper's arguments are.
    pub fn arguments(&self, helper: Helper, touched: Touched) -> u64 {
        let memories = helper.arguments().into_iter().filter(|argument| {
            use Argument::{AsMuch, Key, Memory, Value};
            matches!(argument, Key | Value | Memory | AsMuch)
        });
        memories.count() as u64 * self.access(touched)
    }
}

/// Return how many places of a map a helper's call touches.
fn places(helper: Helper, spec: &MapSpec) -> u64 {
    let hash = spec.kind.is_hash();
    match helper {
        Helper::MapLookup | Helper::MapDelete if hash => FOUND,
        // A place is computed; only a name is read.
        Helper::MapLookup => u64::from(spec.kind.names()),
        Helper::MapUpdate if spec.kind.evicts() => FOUND + 1 + maps::evicting(spec),
        // A new entry is the first of those that are free.
        Helper::MapUpdate if hash => FOUND + 1,
        Helper::MapUpdate | Helper::TailCall => 1,
        _ if spec.kind == MapKind::Events => QUEUE,
        _ => 0,
    }
}
