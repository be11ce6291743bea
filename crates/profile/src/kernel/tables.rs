//! Reads the BPF programs' tables after the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use libbpf_rs::{MapCore, MapFlags};

use super::layout::{
    COUNTS, NAMED, OTHER_SYSCALL, Place, Process, SOFTIRQ, SOFTIRQS, Sum, Why, half, word,
};
use super::programs::Programs;

/// All that was counted.
#[derive(Debug)]
pub struct Record {
    /// Samples, and waits that are over or were cut off by the end.
    pub places: Vec<(Place, Sum)>,
    /// Stacks by key.
    pub stacks: HashMap<u64, Stack>,
    /// Counts by name for each role.
    pub counts: Vec<BTreeMap<String, u64>>,
}

/// A user or kernel stack.
#[derive(Debug, Default)]
pub struct Stack {
    /// The addresses, leaf first.
    pub frames: Vec<u64>,
    /// True of a user stack whose last frame has no caller.
    pub whole: bool,
}

impl Programs {
    /// The processes that belong to a role now.
    pub fn processes(&self) -> Vec<(u32, Process)> {
        let table = self.table("processes");
        table
            .keys()
            .filter_map(|key| {
                let value = table.lookup(&key, MapFlags::ANY).ok()??;
                Some((half(&key, 0), Process::read(&value)))
            })
            .collect()
    }

    /// Read what was counted between two times.
    pub fn record(&self, began: u64, ended: u64, roles: usize) -> Record {
        Record {
            places: self.places(began, ended),
            stacks: self.stacks(),
            counts: (0..roles).map(|role| self.counts(role)).collect(),
        }
    }

    fn places(&self, began: u64, ended: u64) -> Vec<(Place, Sum)> {
        let table = self.table("places");
        let mut places: Vec<(Place, Sum)> = table
            .keys()
            .filter_map(|key| {
                let value = table.lookup(&key, MapFlags::ANY).ok()??;
                let (count, ns) = (word(&value, 0), word(&value, 8));
                Some((Place::read(&key), Sum { count, ns }))
            })
            .collect();
        let waits = self.table("waits");
        // The walk begins anew when a task ends whose key it has just met.
        let keys: BTreeSet<Vec<u8>> = waits.keys().collect();
        for key in &keys {
            if let Ok(Some(value)) = waits.lookup(key, MapFlags::ANY) {
                places.extend(unfinished(&value, began, ended));
            }
        }
        places
    }

    fn stacks(&self) -> HashMap<u64, Stack> {
        let table = self.table("stacks");
        table
            .keys()
            .filter_map(|key| {
                let value = table.lookup(&key, MapFlags::ANY).ok()??;
                let length = half(&value, 0) as usize;
                let frames = (1..=length).map(|at| word(&value, at * 8)).collect();
                let whole = half(&value, 4) != 0;
                Some((word(&key, 0), Stack { frames, whole }))
            })
            .collect()
    }

    fn counts(&self, role: usize) -> BTreeMap<String, u64> {
        let table = self.table("counts");
        let mut counts = BTreeMap::new();
        for at in 0..COUNTS {
            let key = ((role * COUNTS + at) as u32).to_ne_bytes();
            let values = table.lookup_percpu(&key, MapFlags::ANY).ok().flatten();
            let sum: u64 = values
                .unwrap_or_default()
                .iter()
                .map(|value| word(value, 0))
                .sum();
            let name = name(at);
            // A system call or softirq is named if it occurred, any other count if this kernel has it.
            let always = (OTHER_SYSCALL + 1..SOFTIRQ).contains(&at)
                && !self.lacking.contains(&name.as_str());
            if sum > 0 || always {
                counts.insert(name, sum);
            }
        }
        counts
    }
}

/// The parts of a wait that the end cut off.
fn unfinished(wait: &[u8], began: u64, ended: u64) -> Vec<(Place, Sum)> {
    let place = Place::read(wait);
    let (since, woken) = (word(wait, 32).max(began), word(wait, 40));
    let part = |why, from: u64, until: u64| {
        let ns = until.saturating_sub(from);
        (ns > 0).then_some((Place { why, ..place }, Sum { count: 1, ns }))
    };
    if woken == 0 || place.why != Why::Blocked {
        return part(place.why, since, ended).into_iter().collect();
    }
    let woken = woken.clamp(since, ended.max(since));
    let parts = [
        part(Why::Blocked, since, woken),
        part(Why::Queued, woken, ended),
    ];
    parts.into_iter().flatten().collect()
}

fn name(at: usize) -> String {
    match at {
        OTHER_SYSCALL => "syscall.other".into(),
        at if at < OTHER_SYSCALL => match syscalls::Sysno::new(at) {
            Some(number) => format!("syscall.{}", number.name()),
            None => format!("syscall.{at}"),
        },
        at if at < SOFTIRQ => NAMED[at - OTHER_SYSCALL - 1].into(),
        at => format!("softirq.{}", SOFTIRQS[at - SOFTIRQ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(why: u32, since: u64, woken: u64) -> Vec<u8> {
        let mut bytes = [1u64, 2].map(u64::to_ne_bytes).concat();
        bytes.extend([7, 7, 0, why].map(u32::to_ne_bytes).concat());
        bytes.extend([since, woken].map(u64::to_ne_bytes).concat());
        bytes
    }

    fn parts(wait: &[u8]) -> Vec<(Why, u64)> {
        let found = unfinished(wait, 100, 200);
        found
            .iter()
            .map(|(place, sum)| (place.why, sum.ns))
            .collect()
    }

    #[test]
    fn a_wait_that_did_not_end_is_cut_at_both_ends_of_the_window() {
        assert_eq!(parts(&wait(1, 50, 0)), [(Why::Blocked, 100)]);
        assert_eq!(parts(&wait(3, 150, 0)), [(Why::Preempted, 50)]);
        assert_eq!(
            parts(&wait(1, 120, 190)),
            [(Why::Blocked, 70), (Why::Queued, 10)]
        );
        assert_eq!(parts(&wait(1, 50, 60)), [(Why::Queued, 100)]);
        assert_eq!(parts(&wait(1, 250, 0)), []);
    }

    #[test]
    fn every_count_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> = (0..COUNTS).map(name).collect();
        assert_eq!(names.len(), COUNTS);
        assert!(names.contains("syscall.getppid") && names.contains("softirq.net_rx"));
        assert_eq!(
            (name(512).as_str(), name(521).as_str()),
            ("switch.voluntary", "cpu_ns")
        );
    }
}
