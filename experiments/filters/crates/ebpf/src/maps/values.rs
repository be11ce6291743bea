//! The place of a value: one, or in maps per CPU one copy for each processor.

use super::cpu;
use super::map::padded;
use crate::map_spec::MapSpec;

/// Copies of each value.
pub fn copies(spec: &MapSpec) -> usize {
    if spec.kind.is_per_cpu() {
        cpu::count()
    } else {
        1
    }
}

/// Bytes from one copy to the next.
pub fn stride(spec: &MapSpec) -> usize {
    padded(spec.value_size)
}

/// Bytes of all copies of a value.
pub fn bytes(spec: &MapSpec) -> usize {
    stride(spec) * copies(spec)
}

/// The copy of the running thread's processor.
///
/// # Safety
/// `first` must be the address of the first copy of a value.
pub unsafe fn own(spec: &MapSpec, first: *mut u8) -> *mut u8 {
    if !spec.kind.is_per_cpu() {
        return first;
    }
    // SAFETY: the processor is below the number of copies.
    unsafe { first.add(cpu::current() * stride(spec)) }
}
