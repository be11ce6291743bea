//! Control groups of slots: made once, entered by each worker in its turn. Version 1 has a hierarchy
//! for each controller; in version 2 there is one, and this process moves to a leaf of its own group.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::descriptors::moved_up;

const MOUNT: &str = "/sys/fs/cgroup";
const PATIENCE: Duration = Duration::from_secs(5);

/// Where groups of slots are made, and the files that hold their limits.
#[derive(Debug)]
pub struct Hierarchy {
    version: Version,
    /// The folders of this process's slots, one a hierarchy; none where slots have no processes.
    folders: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Hierarchy {
    /// Makes this process's own folders, and takes away those of processes that are gone.
    ///
    /// # Errors
    ///
    /// Why there can be no limits, in words.
    pub fn new() -> Result<Self, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let (version, parents) = parents(Path::new(MOUNT), &own, &mounts)?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}.{number}", std::process::id());
        let folders = parents.iter().map(|parent| parent.join(&name)).collect();
        let made = Hierarchy { version, folders };
        for parent in &parents {
            sweep_stale(parent);
        }
        // What was made before something failed goes away again.
        made.make().inspect_err(|_| made.remove())?;
        Ok(made)
    }

    /// For slots that have no processes: there is nothing to limit in groups.
    pub fn of_no_processes() -> Self {
        Hierarchy {
            version: Version::One,
            folders: Vec::new(),
        }
    }

    fn make(&self) -> Result<(), String> {
        for folder in &self.folders {
            make(folder)?;
        }
        if self.version == Version::Two {
            self.delegate()?;
        }
        Ok(())
    }

    /// A group for one worker at a time.
    ///
    /// # Errors
    ///
    /// What could not be set, in words.
    pub fn slot(&self, number: u32, memory: u64, processes: u32) -> Result<SlotGroup, String> {
        if self.folders.is_empty() {
            return Ok(SlotGroup::default());
        }
        let folders: Vec<PathBuf> = self
            .folders
            .iter()
            .map(|folder| folder.join(number.to_string()))
            .collect();
        for folder in &folders {
            make(folder)?;
        }
        let (names, entrance) = match self.version {
            Version::One => (["memory.limit_in_bytes", "memory.oom_control"], "tasks"),
            Version::Two => (["memory.max", "memory.events"], "cgroup.procs"),
        };
        let [memory_folder, .., pids_folder] = &folders[..] else {
            return SlotGroup::open(
                &folders,
                &folders[0],
                &folders[0],
                names,
                entrance,
                memory,
                processes,
            );
        };
        SlotGroup::open(
            &folders,
            memory_folder,
            pids_folder,
            names,
            entrance,
            memory,
            processes,
        )
    }

    /// Removes this process's own folders, in which no slot is left.
    pub fn remove(&self) {
        for folder in &self.folders {
            if self.version == Version::Two {
                let home = folder.parent().unwrap_or(folder).join("cgroup.procs");
                let _ = fs::write(home, "0");
            }
            remove(folder);
        }
    }

    /// Version 2 hands controllers only to groups whose parents hold no process.
    fn delegate(&self) -> Result<(), String> {
        let folder = &self.folders[0];
        let host = folder.join("host");
        make(&host)?;
        write(&host.join("cgroup.procs"), "0")?;
        let parent = folder.parent().unwrap_or(folder);
        for each in [parent, folder] {
            write(&each.join("cgroup.subtree_control"), "+memory +pids")?;
        }
        Ok(())
    }
}

/// Before the number of the process and that of the hierarchy within it.
const PREFIX: &str = "tare-sandbox.";
static MADE: AtomicU32 = AtomicU32::new(0);

/// The groups of one slot, open; none if it never has processes.
#[derive(Debug, Default)]
pub struct SlotGroup {
    folders: Vec<PathBuf>,
    entrances: Vec<OwnedFd>,
    files: Option<Files>,
    processes: u32,
}

/// What tells of a slot's processes, and limits them.
#[derive(Debug)]
struct Files {
    /// Opened anew for each look: version 1 shows who looks again the list of the first time.
    procs: PathBuf,
    count: File,
    most: File,
    kills: File,
}

impl SlotGroup {
    fn open(
        folders: &[PathBuf],
        memory_folder: &Path,
        pids_folder: &Path,
        [limit, kills]: [&str; 2],
        entrance: &str,
        memory: u64,
        processes: u32,
    ) -> Result<Self, String> {
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
            folders: folders.to_vec(),
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

    /// How many processes were killed for the slot's memory limit so far.
    pub fn memory_kills(&self) -> u64 {
        let Some(files) = &self.files else { return 0 };
        let text = contents(&files.kills).unwrap_or_default();
        text.lines()
            .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
            .unwrap_or(0)
    }

    /// Whether no process is left in it.
    pub fn is_empty(&self) -> bool {
        let none = |files: &Files| contents(&files.count).is_ok_and(|count| count.trim() == "0");
        self.files.as_ref().is_none_or(none)
    }

    /// Whether no process is left in it but the one that may stay.
    pub fn has_only(&self, staying: Option<i32>) -> bool {
        let (Some(pid), Some(files)) = (staying, &self.files) else {
            return self.is_empty();
        };
        fs::read_to_string(&files.procs).is_ok_and(|pids| pids.trim() == pid.to_string())
    }

    /// Kills what is left in it, none of which can multiply meanwhile. True when nothing is left.
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

/// The version, and the folders in which this process may make groups: of its own, as `own` names
/// them (/proc/self/cgroup), below `mount`, where a container may see a part only (`mounts`:
/// /proc/self/mountinfo).
fn parents(mount: &Path, own: &str, mounts: &str) -> Result<(Version, Vec<PathBuf>), String> {
    let path_of = |wanted: &str| {
        own.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let controllers = parts.next()?;
            controllers
                .split(',')
                .any(|name| name == wanted)
                .then(|| parts.next())?
        })
    };
    let unified = fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default();
    let has = |name: &str| unified.split_whitespace().any(|each| each == name);
    if has("memory") && has("pids") {
        let path = path_of("").unwrap_or("/");
        return Ok((Version::Two, vec![below(mount, path, mounts)?]));
    }
    let folder = |name: &str| below(&mount.join(name), path_of(name).unwrap_or("/"), mounts);
    let folders = vec![folder("memory")?, folder("pids")?];
    match folders.iter().find(|folder| !folder.is_dir()) {
        None => Ok((Version::One, folders)),
        Some(missing) => Err(format!(
            "no control groups with the controllers memory and pids: {} is missing; mount them, or start with \
             cgroup_no_v1=all",
            missing.display()
        )),
    }
}

/// Where the group `path` of a hierarchy is found that is mounted at `place`, whole or in part.
fn below(place: &Path, path: &str, mounts: &str) -> Result<PathBuf, String> {
    let root_here = |line: &str| {
        let mut fields = line.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        (Path::new(point) == place).then(|| root.to_owned())
    };
    let root = mounts.lines().filter_map(root_here).next_back();
    Path::new(path)
        .strip_prefix(root.as_deref().unwrap_or("/"))
        .map(|rest| place.join(rest))
        .map_err(|_| {
            format!(
                "the control group {path} of this process is not among those at {}; start its container with \
                 --cgroupns=host",
                place.display()
            )
        })
}

/// Kills what outlived a killed runtime: what its workers had started dies with nobody by itself.
fn kill_below(folder: &Path) {
    let begun = Instant::now();
    for slot in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (most, procs) = (
            slot.path().join("pids.max"),
            slot.path().join("cgroup.procs"),
        );
        let _ = fs::write(most, "0");
        while begun.elapsed() < PATIENCE {
            let left = fs::read_to_string(&procs).unwrap_or_default();
            if left.is_empty() {
                break;
            }
            kill(&left);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Kills processes by their numbers.
fn kill(pids: &str) {
    for pid in pids.split_whitespace() {
        if let Some(pid) = pid.parse().ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Removes the groups of runtimes that were killed.
fn sweep_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('.').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            kill_below(&entry.path());
            remove(&entry.path());
        }
    }
}

fn make(folder: &Path) -> Result<(), String> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(format!(
            "cannot make the control group {}: {error}; limits need the right to: start the sandbox as root, \
             and a container of it with /sys/fs/cgroup to write to",
            folder.display()
        )),
        _ => Ok(()),
    }
}

/// Removes a group and those below it, all without processes.
fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

fn write(file: &Path, value: &str) -> Result<(), String> {
    fs::write(file, value)
        .map_err(|error| format!("cannot write {value} to {}: {error}", file.display()))
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

#[cfg(test)]
mod tests;
