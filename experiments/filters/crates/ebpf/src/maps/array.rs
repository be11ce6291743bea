//! Arrays: one value after the other.

use super::map::{Map, MapError, Update};
use super::values;
use crate::map_spec::MapSpec;

pub fn bytes(spec: &MapSpec) -> usize {
    values::bytes(spec) * spec.max_entries as usize
}

/// Put the contents of a data section into the first value.
pub fn fill(map: &Map) {
    let initial = &map.spec.initial;
    // SAFETY: the first value has at least as many bytes (checked with the declaration).
    unsafe {
        map.base
            .copy_from_nonoverlapping(initial.as_ptr(), initial.len())
    };
}

/// The address of a value's first copy.
pub fn first(map: &Map, key: &[u8]) -> Option<*mut u8> {
    let index = u32::from_le_bytes(*key.first_chunk()?);
    // SAFETY: the index is below the number of entries.
    (index < map.spec.max_entries)
        .then(|| unsafe { map.base.add(index as usize * values::bytes(&map.spec)) })
}

pub fn update(map: &Map, key: &[u8], value: &[u8], when: Update) -> Result<(), MapError> {
    let place = first(map, key).ok_or(MapError::TooBig)?;
    if when == Update::New {
        return Err(MapError::Exists);
    }
    // SAFETY: a value has as many bytes as `value` (checked by the caller).
    unsafe { values::own(&map.spec, place).copy_from(value.as_ptr(), value.len()) };
    Ok(())
}
