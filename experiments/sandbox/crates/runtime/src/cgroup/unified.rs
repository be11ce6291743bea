//! Version 2 of control groups beside version 1, where it limits neither memory nor processes: it
//! counts CPU time, freezes and kills.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::place::below;

/// This process's own group of version 2.
#[derive(Debug)]
pub struct Unified {
    /// Its folder.
    pub folder: PathBuf,
    /// The mount point of the hierarchy.
    pub mount: PathBuf,
    /// The mount that the path leads through, if the hierarchy has no mount point.
    _held: Option<OwnedFd>,
}

impl Unified {
    /// Find it: the groups of this process are `own` (/proc/self/cgroup), and `mounts` is
    /// /proc/self/mountinfo. A hierarchy that is mounted nowhere is opened.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn find(own: &str, mounts: &str) -> Result<Self, String> {
        let path = own.lines().find_map(|line| line.strip_prefix("0::"));
        let path = path.ok_or("the kernel has no version 2 of control groups")?;
        let found = mounts.lines().find_map(|line| {
            let (before, behind) = line.split_once(" - ")?;
            let is_version_2 = behind.starts_with("cgroup2 ");
            is_version_2.then(|| before.split(' ').nth(4)).flatten()
        });
        if let Some(mount) = found {
            return Ok(Unified {
                folder: below(Path::new(mount), path, mounts)?,
                mount: mount.into(),
                _held: None,
            });
        }
        let opened = open().map_err(|error| {
            format!(
                "version 2 of control groups, which counts CPU time, is mounted nowhere and cannot be opened: \
                 {error}; mount it: mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified"
            )
        })?;
        let mount = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        Ok(Unified {
            folder: mount.join(path.trim_start_matches('/')),
            mount,
            _held: Some(opened),
        })
    }
}

/// Mount the hierarchy where only this process sees it.
fn open() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("cgroup2", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let closed = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_where_it_is_mounted() {
        let mounts = "31 23 0:27 / /g/pids ro - cgroup cgroup rw,pids\n\
                      33 23 0:29 / /g/unified rw - cgroup2 cgroup2 rw\n";
        let found = Unified::find("4:pids:/a\n0::/b\n", mounts).unwrap();
        assert_eq!(found.mount, Path::new("/g/unified"));
        assert_eq!(found.folder, Path::new("/g/unified/b"));
        assert!(Unified::find("4:pids:/a\n", mounts).is_err());
    }
}
