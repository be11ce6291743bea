//! The groups of one slot: entered, counted, emptied.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cpu::Cpu;
use super::files::{PATIENCE, Version, access, contents, remove, write};
use super::share::Share;
use super::strangers;
use crate::board::Mark;
use crate::descriptors::moved_up;

/// The limits of a slot.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of memory.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u32,
    /// CPU time of a call.
    pub cpu: Duration,
}

/// The groups of one slot, open; none if it never has processes.
#[derive(Debug, Default)]
pub struct SlotGroup {
    /// Of version 1 the one of memory first and the one of processes second; of version 2 last.
    folders: Vec<PathBuf>,
    entrances: Vec<OwnedFd>,
    files: Option<Files>,
    /// Its path in version 2.
    path: String,
    /// The share of the CPUs that its processes have together with those of the binary's other slots. Dropped last.
    _share: Option<Arc<Share>>,
}

/// The files that count a slot's processes and limit them.
#[derive(Debug)]
struct Files {
    /// Opened anew for each look: version 1 shows who looks again the list of the first time.
    procs: PathBuf,
    count: File,
    kills: File,
    cpu: Cpu,
}

impl SlotGroup {
    /// Open the groups at `folders`, the last of which is `path` in version 2.
    pub(super) fn open(
        version: Version,
        folders: Vec<PathBuf>,
        path: String,
        bounds: Bounds,
        share: Option<Arc<Share>>,
    ) -> Result<Self, String> {
        let (limit, kills, pids) = match version {
            Version::One => ("memory.limit_in_bytes", "memory.oom_control", 1),
            Version::Two => ("memory.max", "memory.events", 0),
        };
        let memory = |name: &str| folders[0].join(name);
        write(&memory(limit), &bounds.memory.to_string())?;
        // Where the kernel counts swap apart, there must be none beyond the limit either.
        let swap = [
            ("memory.memsw.limit_in_bytes", bounds.memory),
            ("memory.swap.max", 0),
        ];
        for (name, value) in swap {
            if memory(name).exists() {
                write(&memory(name), &value.to_string())?;
            }
        }
        let pids = folders[pids].clone();
        write(&pids.join("pids.max"), &bounds.processes.to_string())?;
        let unified = folders.len() - 1;
        let own = folders.iter().enumerate().map(|(index, folder)| {
            // A thread of version 1 can move alone.
            let name = if index == unified {
                "cgroup.procs"
            } else {
                "tasks"
            };
            folder.join(name)
        });
        let shared = share.as_deref().and_then(Share::entrance);
        let entrances = shared.into_iter().chain(own).map(|entrance| {
            let file = access(&entrance, true)?;
            moved_up(file.into()).map_err(|error| error.to_string())
        });
        Ok(SlotGroup {
            entrances: entrances.collect::<Result<_, String>>()?,
            files: Some(Files {
                procs: pids.join("cgroup.procs"),
                count: access(&pids.join("pids.current"), false)?,
                kills: access(&memory(kills), false)?,
                cpu: Cpu::open(&folders[unified], bounds.cpu)?,
            }),
            folders,
            path,
            _share: share,
        })
    }

    /// Files to which a process writes 0 to move itself in.
    pub fn entrances(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.entrances.iter().map(AsRawFd::as_raw_fd)
    }

    /// Its path in version 2.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Watch a worker that is ready, by its mark, or none. Whatever was frozen goes on.
    pub fn begin(&self, mark: Option<Mark>) {
        if let Some(files) = &self.files {
            files.cpu.begin(mark);
        }
    }

    /// Let its worker go on if it was frozen.
    pub fn thaw(&self) {
        if let Some(files) = &self.files {
            files.cpu.thaw();
        }
    }

    /// Look at the CPU time of its worker, and do what must be done about it.
    pub fn look(&self) {
        if let Some(files) = &self.files {
            files.cpu.look();
        }
    }

    /// Return true if its worker was killed for the CPU time of its call.
    pub fn has_used_up_cpu(&self) -> bool {
        let used_up = |files: &Files| files.cpu.is_used_up();
        self.files.as_ref().is_some_and(used_up)
    }

    /// Return how many processes were killed for the slot's memory limit so far.
    pub fn memory_kills(&self) -> u64 {
        let Some(files) = &self.files else { return 0 };
        let text = contents(&files.kills).unwrap_or_default();
        text.lines()
            .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
            .unwrap_or(0)
    }

    /// Return true if no process is left in it.
    pub fn is_empty(&self) -> bool {
        let none = |files: &Files| contents(&files.count).is_ok_and(|count| count.trim() == "0");
        self.files.as_ref().is_none_or(none)
    }

    /// Return true if no process is left in it but the one that may stay.
    pub fn has_only(&self, resident: Option<i32>) -> bool {
        let (Some(pid), Some(files)) = (resident, &self.files) else {
            return self.is_empty();
        };
        fs::read_to_string(&files.procs).is_ok_and(|pids| pids.trim() == pid.to_string())
    }

    /// Kill what is left in it, and collect what has become a child of this process. True when nothing
    /// is left.
    pub fn empty(&self) -> bool {
        let Some(files) = &self.files else {
            return true;
        };
        let begun = Instant::now();
        while !self.is_empty() && begun.elapsed() < PATIENCE {
            files.cpu.kill();
            std::thread::sleep(Duration::from_micros(200));
            strangers::collect(&self.path);
        }
        self.is_empty()
    }
}

impl Drop for SlotGroup {
    fn drop(&mut self) {
        self.empty();
        for folder in &self.folders {
            remove(folder);
        }
    }
}
