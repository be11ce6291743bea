//! Values that name something of the program: another map, or a program to go on with. In memory they are
//! numbers: 0 for nothing, or one more than a place in the list of what the map may name.

use std::sync::atomic::{AtomicU32, Ordering};

use super::map::{Map, MapError, Update};
use crate::map_spec::MapSpec;

/// Bytes of such a value.
pub const SIZE: u32 = 4;

/// Put the names of the declaration in.
pub fn fill(map: &Map) -> Result<(), MapError> {
    for (index, number) in (0u32..).zip(map.spec.initial.as_chunks::<4>().0) {
        if *number != [0; 4] {
            map.update(&key(&map.spec, index), number, Update::Any)?;
        }
    }
    Ok(())
}

/// The key of an entry that the declaration gives by its index.
pub fn key(spec: &MapSpec, index: u32) -> Vec<u8> {
    let mut key = index.to_le_bytes().to_vec();
    key.resize(spec.key_size as usize, 0);
    key
}

/// The place in the list that a value names.
///
/// # Safety
/// It must be the address of a value of such a map.
pub unsafe fn place(value: *mut u8) -> Option<usize> {
    // SAFETY: values are aligned to 8 bytes, and have 4.
    let number = unsafe { AtomicU32::from_ptr(value.cast()) }.load(Ordering::Acquire);
    (number as usize).checked_sub(1)
}
