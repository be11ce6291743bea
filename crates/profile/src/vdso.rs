//! The code that the kernel maps into each process.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The bytes of the vDSO, which are the same in all processes.
pub fn bytes() -> Option<Vec<u8>> {
    let range = range()?;
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let memory = File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut bytes, range.start).ok()?;
    Some(bytes)
}

/// The addresses at which it lies in this process.
pub fn range() -> Option<Range<u64>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, rest) = line.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some(address(start)?..address(rest.split(' ').next()?)?)
}
