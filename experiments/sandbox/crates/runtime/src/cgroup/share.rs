//! Shares of the CPUs: a group for each binary, all of which weigh the same, however many workers compute.
//!
//! A weight decides only while there is more to compute than CPUs: nobody waits for a CPU that is idle. The groups'
//! parent weighs as much as the machine has CPUs, each like a process of its own, so that the host keeps
//! its part. Sources: <https://docs.kernel.org/scheduler/sched-design-CFS.html> (cpu.shares) and
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html#weights> (cpu.weight).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::files::{Version, make, remove, write};
use crate::lock::Held;

/// The weight of one process or group by default, by version, and the most there may be.
const ONE: (u64, u64) = (1024, 262_144);
const TWO: (u64, u64) = (100, 10_000);

/// The parent of all binaries' groups.
#[derive(Debug)]
pub struct Shares {
    version: Version,
    folder: PathBuf,
    next: AtomicU32,
    /// A folder that nobody holds is taken away by other daemons.
    _held: Option<Held>,
}

impl Shares {
    /// Make `folder` such a parent, on a machine with so many CPUs. In version 2 its groups get the controllers
    /// that the slots' need.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    pub fn new(
        version: Version,
        folder: PathBuf,
        cpus: usize,
        held: Option<Held>,
    ) -> Result<Self, String> {
        weigh(version, &folder, cpus as u64)?;
        if version == Version::Two {
            write(&folder.join("cgroup.subtree_control"), "+cpu")?;
        }
        Ok(Shares {
            version,
            folder,
            next: AtomicU32::new(0),
            _held: held,
        })
    }

    /// Make a group for one binary.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    pub fn share(&self) -> Result<Share, String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let share = Share {
            version: self.version,
            folder: self.folder.join(format!("binary-{number}")),
        };
        make(&share.folder)?;
        weigh(self.version, &share.folder, 1)?;
        if self.version == Version::Two {
            write(
                &share.folder.join("cgroup.subtree_control"),
                "+memory +pids",
            )?;
        }
        Ok(share)
    }

    /// The folder in which the groups are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The group of one binary, removed when no slot is left in it.
#[derive(Debug)]
pub struct Share {
    version: Version,
    folder: PathBuf,
}

impl Share {
    /// The folder in which the groups of its slots are; none in version 1, where that of memory has them.
    pub fn parent(&self) -> Option<&Path> {
        (self.version == Version::Two).then_some(&self.folder)
    }

    /// The file by which a thread moves itself in; none in version 2, where it moves into its slot's group.
    pub fn entrance(&self) -> Option<PathBuf> {
        (self.version == Version::One).then(|| self.folder.join("tasks"))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Have a group weigh as much as so many processes.
fn weigh(version: Version, folder: &Path, processes: u64) -> Result<(), String> {
    let (name, (one, most)) = match version {
        Version::One => ("cpu.shares", ONE),
        Version::Two => ("cpu.weight", TWO),
    };
    let weight = one.saturating_mul(processes.max(1)).min(most);
    write(&folder.join(name), &weight.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder that is no control group: what is written to it stays.
    fn parent(name: &str) -> PathBuf {
        let name = format!("tare-share-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn read(file: PathBuf) -> String {
        fs::read_to_string(file).unwrap()
    }

    #[test]
    fn binaries_weigh_the_same_and_their_parent_as_much_as_the_cpus_in_version_1() {
        let folder = parent("one");
        let shares = Shares::new(Version::One, folder.clone(), 4, None).unwrap();
        assert_eq!(read(folder.join("cpu.shares")), "4096");
        for number in 0..3 {
            let share = shares.share().unwrap();
            let own = folder.join(format!("binary-{number}"));
            assert_eq!(read(own.join("cpu.shares")), "1024");
            assert_eq!(share.entrance(), Some(own.join("tasks")));
            assert_eq!(share.parent(), None);
        }
        assert!(!folder.join("cgroup.subtree_control").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn slots_are_below_their_binary_in_version_2() {
        let folder = parent("two");
        let shares = Shares::new(Version::Two, folder.clone(), 2, None).unwrap();
        assert_eq!(read(folder.join("cpu.weight")), "200");
        assert_eq!(read(folder.join("cgroup.subtree_control")), "+cpu");
        let (share, own) = (shares.share().unwrap(), folder.join("binary-0"));
        assert_eq!(read(own.join("cpu.weight")), "100");
        assert_eq!(read(own.join("cgroup.subtree_control")), "+memory +pids");
        assert_eq!((share.parent(), share.entrance()), (Some(&*own), None));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_machine_of_many_cpus_stays_within_what_the_kernel_takes() {
        let folder = parent("many");
        Shares::new(Version::One, folder.clone(), 1000, None).unwrap();
        assert_eq!(read(folder.join("cpu.shares")), "262144");
        Shares::new(Version::Two, folder.clone(), 1000, None).unwrap();
        assert_eq!(read(folder.join("cpu.weight")), "10000");
        fs::remove_dir_all(folder).unwrap();
    }
}
