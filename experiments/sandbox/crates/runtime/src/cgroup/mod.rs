//! Control groups of slots: made once, entered by each worker in its turn. Version 1 has a hierarchy
//! for each controller, version 2 one for all.

mod cpu;
mod files;
mod place;
mod share;
mod slot;
mod strangers;
mod unified;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use self::files::{LEAF, MOUNT, PATIENCE, PREFIX, Version, make, remove, write};
use self::place::{Place, Seat, below, find, path_of};
pub use self::share::Share;
use self::share::Shares;
pub use self::slot::{Bounds, SlotGroup};
use self::unified::Unified;
use crate::lock::{Held, hold, wait_for};

/// The folders in which groups of slots are made, and the files that hold their limits.
#[derive(Debug)]
pub struct Hierarchy {
    version: Version,
    /// The folders of this process's slots, one a hierarchy; none where slots have no processes.
    folders: Vec<PathBuf>,
    /// This process has left its own group, below which the folders are, for this one.
    leaf: Option<PathBuf>,
    /// Version 2 beside version 1.
    unified: Option<Unified>,
    /// The shares of the CPUs, where binaries have them.
    shares: OnceLock<Shares>,
    /// The folders, held: who finds one that is not takes it away.
    held: Vec<Held>,
}

impl Hierarchy {
    /// Make this process's own folders, and takes away those of processes that are gone.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn new() -> Result<Self, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let pid = std::process::id();
        let Place {
            version,
            mut parents,
            seat,
        } = find(Path::new(MOUNT), &own, &mounts, pid)?;
        let unified = match version {
            Version::One => Some(Unified::find(&own, &mounts)?),
            Version::Two => None,
        };
        parents.extend(unified.iter().map(|unified| unified.folder.clone()));
        // Nobody makes or takes away a folder meanwhile.
        let _making = making(&parents)?;
        // From the last, of version 2, which kills.
        for parent in parents.iter().rev() {
            sweep_stale(parent);
        }
        if version == Version::One
            && let Ok(parent) = cpu_parent()
        {
            let _making = making(std::slice::from_ref(&parent))?;
            sweep_stale(&parent);
        }
        // A process of another namespace may have the same number.
        let free = |name: &String| parents.iter().all(|parent| !parent.join(name).exists());
        let names = std::iter::repeat_with(|| MADE.fetch_add(1, Ordering::Relaxed));
        let mut names = names.map(|number| format!("{PREFIX}{pid}.{number}"));
        let name = names.find(free).ok_or("no name is left")?;
        let folders: Vec<PathBuf> = parents.iter().map(|parent| parent.join(&name)).collect();
        let leaf = match seat {
            Seat::Anywhere => None,
            Seat::InTheWay => Some(folders[0].join(LEAF)),
            Seat::Aside(leaf) => Some(leaf),
        };
        let mut made = Hierarchy {
            version,
            folders,
            leaf,
            unified,
            shares: OnceLock::new(),
            held: Vec::new(),
        };
        // What was made before something failed goes away again.
        made.make().inspect_err(|_| made.remove())?;
        Ok(made)
    }

    /// For slots that have no processes: there is nothing to limit in groups.
    pub fn of_no_processes() -> Self {
        Hierarchy {
            version: Version::One,
            folders: Vec::new(),
            leaf: None,
            unified: None,
            shares: OnceLock::new(),
            held: Vec::new(),
        }
    }

    fn make(&mut self) -> Result<(), String> {
        for folder in &self.folders {
            make(folder)?;
            let opened = File::open(folder).ok().and_then(hold);
            let why = || format!("cannot hold the control group {}", folder.display());
            self.held.push(opened.ok_or_else(why)?);
        }
        if self.version == Version::One {
            return Ok(());
        }
        let folder = &self.folders[0];
        if let Some(leaf) = &self.leaf {
            make(leaf)?;
            write(&leaf.join("cgroup.procs"), "0")?;
            hand_out(folder.parent().unwrap_or(folder), '+')?;
        }
        hand_out(folder, '+')
    }

    /// Limit this process's own memory, where it can have a group of its own: in version 1, and in version 2
    /// if no other process is in its group. Return false elsewhere.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    pub fn limit_own(&self, bytes: u64) -> Result<bool, String> {
        match (self.version, &self.leaf, self.folders.first()) {
            (Version::One, _, Some(memory)) => {
                let own = memory.join(LEAF);
                make(&own)?;
                write(&own.join("memory.limit_in_bytes"), &bytes.to_string())?;
                write(&own.join("cgroup.procs"), "0")?;
            }
            (Version::Two, Some(leaf), _) => {
                write(&leaf.join("memory.max"), &bytes.to_string())?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Give each binary that is loaded from now on a share of the CPUs, all the same.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    pub fn share_cpus(&self) -> Result<(), String> {
        let Some(first) = self.folders.first() else {
            return Err(
                "its workers are no processes of the host, which alone can be weighed".into(),
            );
        };
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let shares = match self.version {
            Version::One => {
                let parent = cpu_parent()?;
                let name = first.file_name().ok_or("the groups have no name")?;
                let folder = parent.join(name);
                let _making = making(std::slice::from_ref(&parent))?;
                sweep_stale(&parent);
                make(&folder)?;
                let held = File::open(&folder).ok().and_then(hold);
                let why = || format!("cannot hold the control group {}", folder.display());
                let held = held.ok_or_else(why)?;
                Shares::new(Version::One, folder, cpus, Some(held))?
            }
            Version::Two => {
                if let (Some(_), Some(home)) = (&self.leaf, first.parent()) {
                    write(&home.join("cgroup.subtree_control"), "+cpu")?;
                }
                if !first.join("cpu.weight").exists() {
                    return Err(format!(
                        "the control group {} hands out no CPUs; start the sandbox in one of its own: \
                         systemd-run --scope --property=Delegate=yes tare-sandbox ...",
                        first.parent().unwrap_or(first).display()
                    ));
                }
                Shares::new(Version::Two, first.clone(), cpus, None)?
            }
        };
        self.shares
            .set(shares)
            .map_err(|_| "the CPUs are shared already".into())
    }

    /// The share of one binary, if binaries have shares.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    pub fn share(&self) -> Result<Option<Share>, String> {
        self.shares.get().map(Shares::share).transpose()
    }

    /// A group for one worker at a time, of a binary with this share.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    pub fn slot(
        &self,
        number: u32,
        bounds: Bounds,
        share: Option<Arc<Share>>,
    ) -> Result<SlotGroup, String> {
        if self.folders.is_empty() {
            return Ok(SlotGroup::default());
        }
        let within = share.as_deref().and_then(Share::parent);
        let own = |folder: &PathBuf| within.unwrap_or(folder).join(number.to_string());
        let folders: Vec<PathBuf> = self.folders.iter().map(own).collect();
        for folder in &folders {
            make(folder)?;
        }
        let mount = self.unified.as_ref().map(|unified| &unified.mount);
        let mount = mount.map_or(Path::new(MOUNT), PathBuf::as_path);
        let path = folders
            .last()
            .and_then(|last| last.strip_prefix(mount).ok());
        let path = format!("/{}", path.unwrap_or(Path::new("")).display());
        SlotGroup::open(self.version, folders, path, bounds, share)
    }

    /// Remove this process's own folders, in which no slot is left.
    pub fn remove(&self) {
        let memory = self.folders.first();
        if let Some(memory) =
            memory.filter(|memory| self.version == Version::One && memory.join(LEAF).is_dir())
        {
            // To where it was before.
            let _ = fs::write(memory.with_file_name("cgroup.procs"), "0");
        }
        for folder in &self.folders {
            match self.leaf {
                // This process is below it yet.
                Some(_) => remove(folder),
                None => remove_soon(folder),
            }
        }
        if let Some(shares) = self.shares.get() {
            remove(shares.folder());
        }
        let above = |leaf: &PathBuf| {
            Some((
                leaf.parent()?.to_owned(),
                leaf.ancestors().nth(2)?.to_owned(),
            ))
        };
        if let Some((folder, home)) = self.leaf.as_ref().and_then(above) {
            // A group that hands out nothing may hold processes again. It goes on handing out while
            // another hierarchy of this process needs it.
            if self.shares.get().is_some() {
                for group in [&folder, &home] {
                    let _ = fs::write(group.join("cgroup.subtree_control"), "-cpu");
                }
            }
            let _ = hand_out(&folder, '-').and_then(|()| hand_out(&home, '-'));
            let _ = fs::write(home.join("cgroup.procs"), "0");
            remove_soon(&folder);
        }
    }
}

/// The group of version 1 that this process's CPU time is shared in.
fn cpu_parent() -> Result<PathBuf, String> {
    let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let path = path_of(&own, "cpu").unwrap_or("/");
    let folder = below(&Path::new(MOUNT).join("cpu"), path, &mounts)?;
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(format!(
        "no control groups with the controller cpu: {} is missing; mount them, or start with cgroup_no_v1=all",
        folder.display()
    ))
}

/// Let a group's children have the controllers, or no more.
fn hand_out(folder: &Path, sign: char) -> Result<(), String> {
    let both = format!("{sign}memory {sign}pids");
    write(&folder.join("cgroup.subtree_control"), &both)
}

/// Remove a group that this process has left. A thread that has ended is in it for a moment yet.
fn remove_soon(folder: &Path) {
    let begun = Instant::now();
    remove(folder);
    while folder.exists() && begun.elapsed() < ENDING {
        std::thread::sleep(Duration::from_millis(1));
        remove(folder);
    }
}

/// The time that threads may take from their end until they have left their group.
const ENDING: Duration = Duration::from_secs(1);

static MADE: AtomicU32 = AtomicU32::new(0);

/// Kill what outlived a killed runtime: what its workers had started dies with nobody by itself. Only
/// a group of version 2 can.
fn kill_below(folder: &Path) {
    let _ = fs::write(folder.join("cgroup.kill"), "1");
    let begun = Instant::now();
    let populated = || {
        let events = fs::read_to_string(folder.join("cgroup.events"));
        events.is_ok_and(|events| events.lines().any(|line| line == "populated 1"))
    };
    while populated() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The time that other runtimes may take to make their groups before this one.
const MAKING: Duration = Duration::from_secs(60);

/// Hold the folders in which groups are made.
fn making(parents: &[PathBuf]) -> Result<Vec<Held>, String> {
    let wait = |parent: &PathBuf| {
        let why = |error: std::io::Error| {
            format!(
                "cannot hold the control group {}: {error}; if another process holds it, /proc/locks \
                 has its id",
                parent.display()
            )
        };
        let folder = File::open(parent).map_err(why)?;
        wait_for(folder, MAKING).map_err(|error| why(error.into()))
    };
    parents.iter().map(wait).collect()
}

/// Remove the groups of runtimes that were killed: nobody holds them.
fn sweep_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
        if ours && File::open(entry.path()).ok().and_then(hold).is_some() {
            kill_below(&entry.path());
            remove(&entry.path());
        }
    }
}
