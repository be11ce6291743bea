//! CPU time from /proc, where BPF is not permitted (proc(5)).

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::report::{Reading, Source, Usage};

const PF_KTHREAD: u64 = 0x0020_0000;
/// Columns of /proc/PID/stat behind the name.
const FLAGS: usize = 6;
/// Column of the first line of /proc/stat, and the length of its unit.
const SOFTIRQ: usize = 7;
const TICK_NS: u64 = 10_000_000;

/// All tasks that are alive when read.
#[derive(Debug)]
pub struct Tasks;

impl Source for Tasks {
    fn name(&self) -> &'static str {
        "proc"
    }

    fn read(&mut self) -> Result<Reading> {
        let mut reading = Reading::default();
        for entry in fs::read_dir("/proc").context("/proc")? {
            let path = entry?.path();
            let number = path
                .file_name()
                .and_then(|name| name.to_str()?.parse::<u32>().ok());
            // A process may end while it is read.
            let Some((number, (used, kernel))) = number.zip(process(&path)) else {
                continue;
            };
            if kernel {
                reading.kernel_threads.ns += used.ns;
                reading.kernel_threads.switches += used.switches;
            } else {
                reading.processes.push((number, used));
            }
        }
        let stat = fs::read_to_string("/proc/stat").context("/proc/stat")?;
        let line = stat.lines().next().unwrap_or_default();
        let ticks = line
            .split_ascii_whitespace()
            .nth(SOFTIRQ)
            .and_then(|text| text.parse().ok());
        reading.softirq.ns = ticks.unwrap_or(0u64) * TICK_NS;
        Ok(reading)
    }
}

/// Return the usage of a process, and true if it is a kernel thread.
fn process(folder: &Path) -> Option<(Usage, bool)> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let flags: u64 = fields.split_ascii_whitespace().nth(FLAGS)?.parse().ok()?;
    let mut used = Usage::default();
    for task in fs::read_dir(folder.join("task")).ok()?.flatten() {
        // Nanoseconds on a CPU, nanoseconds of waiting, times that it was given a CPU.
        let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else {
            // A thread may end, too. The others still count.
            continue;
        };
        let mut words = text
            .split_ascii_whitespace()
            .map(|word| word.parse::<u64>().ok());
        used.ns += words.next()??;
        used.switches += words.nth(1)??;
    }
    Some((used, flags & PF_KTHREAD != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_with_its_usage() {
        let (used, kernel) = process(Path::new("/proc/self")).expect("it lives");
        assert!(used.ns > 0 && used.switches > 0 && !kernel, "{used:?}");
        let reading = Tasks.read().expect("proc is mounted");
        let own = std::process::id();
        let found = reading.processes.iter().find(|(number, _)| *number == own);
        // Not more than before: threads of other tests may have ended since.
        assert!(found.is_some_and(|(_, later)| later.ns > 0));
    }

    #[test]
    fn a_process_whose_threads_come_and_go_is_always_found() {
        std::thread::scope(|scope| {
            let busy =
                scope.spawn(|| (0..3000).for_each(|_| drop(std::thread::spawn(|| ()).join())));
            while !busy.is_finished() {
                assert!(process(Path::new("/proc/self")).is_some());
            }
        });
    }

    #[test]
    fn a_process_that_has_ended_has_no_usage() {
        assert!(process(Path::new("/proc/4194305")).is_none());
    }
}
