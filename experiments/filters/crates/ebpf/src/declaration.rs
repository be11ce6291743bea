//! Declarations of maps: that they make sense.

use crate::map_spec::{MAX_KEY, MapKind, MapSpec};
use crate::maps::{self, NAME_SIZE};

/// Sizes stay so small that no product of them overflows, and that a map can be had at all.
const LARGEST: u64 = 1 << 30;

/// Check the maps of a program of so many slots.
///
/// # Errors
/// The name of a map, and what is wrong with it.
pub fn check(maps: &[MapSpec], slots: usize) -> Result<(), (String, &'static str)> {
    for map in maps {
        let wrong = by_itself(map).or_else(|| by_its_choices(map, maps, slots));
        if let Some(reason) = wrong {
            return Err((map.name.clone(), reason));
        }
    }
    Ok(())
}

fn by_itself(map: &MapSpec) -> Option<&'static str> {
    let (hash, events) = (map.kind.is_hash(), map.kind == MapKind::Events);
    let entry = u64::from(map.key_size) + u64::from(map.value_size) * maps::copies(map) + 64;
    Some(match map.kind {
        _ if map.max_entries == 0 => "max_entries is 0",
        _ if !hash && !events && map.key_size != 4 => "the key of an array has 4 bytes",
        _ if !events && map.value_size == 0 => "a value has no bytes",
        _ if hash && !(1..=MAX_KEY as u32).contains(&map.key_size) => "a key has 1 to 512 bytes",
        MapKind::Events if !map.max_entries.is_power_of_two() || map.max_entries < 4096 => {
            "a queue of events has a power of two of bytes, 4096 at least"
        }
        MapKind::Events if map.key_size != 0 || map.value_size != 0 => {
            "a queue of events has neither keys nor values"
        }
        _ if entry.saturating_mul(map.max_entries.into()) > LARGEST => "it takes more than 1 GiB",
        kind if kind.names() && map.value_size != NAME_SIZE => "what it names has 4 bytes",
        kind if kind.names() => return None,
        _ if map.initial.len() > map.value_size as usize => "its contents exceed its value",
        _ => return None,
    })
}

/// Check what the values of a map may name.
fn by_its_choices(map: &MapSpec, maps: &[MapSpec], slots: usize) -> Option<&'static str> {
    let choices = &map.choices;
    if !map.kind.names() {
        return (!choices.is_empty()).then_some("its values name nothing");
    }
    let initial = map.initial.as_chunks::<4>().0;
    let number = |chunk: &[u8; 4]| u32::from_le_bytes(*chunk) as usize;
    if initial.len() > map.max_entries as usize {
        return Some("it names more than max_entries");
    }
    if initial.iter().any(|chunk| number(chunk) > choices.len()) {
        return Some("it names what is not among its choices");
    }
    if map.kind == MapKind::Programs {
        let outside = choices.iter().any(|&start| start >= slots);
        return outside.then_some("it names a program that is not there");
    }
    let inner: Option<Vec<&MapSpec>> = choices.iter().map(|&number| maps.get(number)).collect();
    let Some(inner) = inner else {
        return Some("it names a map that is not there");
    };
    let Some(first) = inner.first() else {
        return Some("it names no map; initialise its values with the addresses of maps");
    };
    let shape = |map: &MapSpec| (map.kind, map.key_size, map.value_size, map.max_entries);
    let same =
        |other: &&MapSpec| shape(other) == shape(first) && other.read_only == first.read_only;
    if first.kind.names() {
        return Some("it names a map whose values name something themselves");
    }
    (!inner.iter().all(same)).then_some("it names maps of different kinds or sizes")
}
