//! Control groups of slots: made once, entered by each worker in its turn. Version 1 has a hierarchy
//! for each controller; in version 2 there is one, and this process moves to a leaf of its own group.

mod slot;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub use self::slot::SlotGroup;

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
        SlotGroup::open(folders, names, entrance, memory, processes)
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

#[cfg(test)]
mod tests;
