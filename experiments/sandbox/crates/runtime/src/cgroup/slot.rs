//! The groups of one slot: entered, counted, emptied.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::files::{MOUNT, PATIENCE, kill, remove, write};
use crate::descriptors::moved_up;

/// The groups of one slot, open; none if it never has processes.
#[derive(Debug, Default)]
pub struct SlotGroup {
    folders: Vec<PathBuf>,
    entrances: Vec<OwnedFd>,
    files: Option<Files>,
    processes: u32,
}

/// The files that count a slot's processes and limit them.
#[derive(Debug)]
struct Files {
    /// Opened anew for each look: version 1 shows who looks again the list of the first time.
    procs: PathBuf,
    count: File,
    most: File,
    kills: File,
}

impl SlotGroup {
    /// Open the groups at `folders`, the first of which limits memory and the last processes.
    pub(super) fn open(
        folders: Vec<PathBuf>,
        [limit, kills]: [&str; 2],
        entrance: &str,
        memory: u64,
        processes: u32,
    ) -> Result<Self, String> {
        let (memory_folder, pids_folder) = (&folders[0], &folders[folders.len() - 1]);
        write(&memory_folder.join(limit), &memory.to_string())?;
        // Where the kernel counts swap apart, there must be none beyond the limit either.
        let swap = [
            ("memory.memsw.limit_in_bytes", memory),
            ("memory.swap.max", 0),
        ];
        for (name, value) in swap {
            let file = memory_folder.join(name);
            if file.exists() {
                write(&file, &value.to_string())?;
            }
        }
        let most = access(&pids_folder.join("pids.max"), true)?;
        let entrances = folders
            .iter()
            .map(|folder| {
                let file = access(&folder.join(entrance), true)?;
                moved_up(file.into()).map_err(|error| error.to_string())
            })
            .collect::<Result<_, String>>()?;
        let made = SlotGroup {
            entrances,
            files: Some(Files {
                procs: pids_folder.join("cgroup.procs"),
                count: access(&pids_folder.join("pids.current"), false)?,
                kills: access(&memory_folder.join(kills), false)?,
                most,
            }),
            folders,
            processes,
        };
        made.allow(processes)
            .map_err(|error| format!("pids.max: {error}"))?;
        Ok(made)
    }

    /// Files to which a process writes 0 to move itself in.
    pub fn entrances(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.entrances.iter().map(AsRawFd::as_raw_fd)
    }

    /// Its path in version 2, if it is of that.
    pub fn in_version_2(&self) -> Option<&str> {
        match &self.folders[..] {
            [one] => one.to_str()?.strip_prefix(MOUNT),
            _ => None,
        }
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

    /// Kill what is left in it, none of which can multiply meanwhile. True when nothing is left.
    pub fn empty(&self) -> bool {
        let Some(files) = &self.files else {
            return true;
        };
        let begun = Instant::now();
        let _ = self.allow(0);
        while !self.is_empty() && begun.elapsed() < PATIENCE {
            kill(&fs::read_to_string(&files.procs).unwrap_or_default());
            std::thread::sleep(Duration::from_micros(200));
        }
        let _ = self.allow(self.processes);
        self.is_empty()
    }

    fn allow(&self, processes: u32) -> io::Result<()> {
        let Some(files) = &self.files else {
            return Ok(());
        };
        files.most.write_all_at(processes.to_string().as_bytes(), 0)
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

fn access(file: &Path, write: bool) -> Result<File, String> {
    OpenOptions::new()
        .read(!write)
        .write(write)
        .open(file)
        .map_err(|error| format!("cannot open {}: {error}", file.display()))
}

fn contents(file: &File) -> io::Result<String> {
    let mut buffer = vec![0; 4096];
    let length = file.read_at(&mut buffer, 0)?;
    buffer.truncate(length);
    String::from_utf8(buffer).map_err(io::Error::other)
}
