//! Perf maps: the file in which a JIT tells its functions' addresses
//! (tools/perf/Documentation/jit-interface.txt of Linux).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::memory::Memory;

/// The kernel tells the second of its own start, and of a process's.
const INEXACT: Duration = Duration::from_secs(2);

/// Functions by address.
#[derive(Debug, Default)]
pub struct PerfMap(BTreeMap<u64, (u64, String)>);

impl PerfMap {
    /// Read the map that a process wrote. The map is empty if there is none.
    pub fn of(process: u32, memory: &Memory) -> Self {
        let paths = Self::paths(process, memory.inner_number.unwrap_or(process));
        let own = paths
            .iter()
            .find(|path| Self::is_own(path.as_ref(), memory.began));
        let text = own.and_then(|path| fs::read(path).ok());
        Self::parse(&String::from_utf8_lossy(&text.unwrap_or_default()))
    }

    /// True if a map was written since a process began. An older one is of another that had its number.
    fn is_own(path: &Path, began: Option<SystemTime>) -> bool {
        let written = fs::metadata(path).and_then(|found| found.modified());
        written.is_ok_and(|at| began.is_none_or(|began| at + INEXACT >= began))
    }

    /// The places where it may be, the first first. A process that has ended has no root any more.
    fn paths(process: u32, inner_number: u32) -> Vec<String> {
        let name = format!("tmp/perf-{inner_number}.map");
        let mut paths = vec![format!("/proc/{process}/root/{name}")];
        // Another process may have here the number that this one has in its own namespace.
        if inner_number == process {
            paths.push(format!("/{name}"));
        }
        paths
    }

    /// Read lines "START SIZE NAME" in hexadecimal. A later one replaces an earlier one at the same address.
    fn parse(text: &str) -> Self {
        let read = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut number = || {
                let word = words.next()?;
                u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
            };
            let (start, size) = (number()?, number()?);
            let name = words.next()?.trim();
            Some((start, (start.checked_add(size)?, name.to_owned())))
        };
        Self(text.lines().filter_map(read).collect())
    }

    /// Return the name of the function at an address.
    pub fn find(&self, address: u64) -> Option<&str> {
        let (_, (end, name)) = self.0.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_processs_map_is_not_taken_for_that_of_one_in_a_namespace() {
        assert_eq!(
            PerfMap::paths(70, 70),
            ["/proc/70/root/tmp/perf-70.map", "/tmp/perf-70.map"]
        );
        assert_eq!(PerfMap::paths(70, 3), ["/proc/70/root/tmp/perf-3.map"]);
    }

    #[test]
    fn a_map_that_is_older_than_its_process_is_anothers() {
        let file = std::env::current_exe().expect("its path");
        let written = file.metadata().and_then(|found| found.modified());
        let written = written.expect("it has a time");
        for (began, own) in [
            (None, true),
            (Some(written), true),
            (Some(written + 2 * INEXACT), false),
        ] {
            assert_eq!(PerfMap::is_own(&file, began), own, "{began:?}");
        }
        assert!(!PerfMap::is_own(Path::new("/nothing"), None));
    }

    #[test]
    fn functions_are_found_by_address() {
        let map = PerfMap::parse(
            "1000 10 py::old\n0x2000 0x20 a b c\nnonsense\n1000 10 py::new\nff ffffffffffffffff x\n",
        );
        assert_eq!(map.find(0x1000), Some("py::new"));
        assert_eq!(map.find(0x201f), Some("a b c"));
        assert_eq!(
            (map.find(0xfff), map.find(0x1010), map.find(0x2020)),
            (None, None, None)
        );
    }
}
