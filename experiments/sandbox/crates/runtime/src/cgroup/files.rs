//! The files of control groups, and the names of those that are made here.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// The folder that control groups are mounted at.
pub const MOUNT: &str = "/sys/fs/cgroup";
/// The time that killed processes may take to end.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The name of the group that a process moves to, to make way for groups below its own.
pub const LEAF: &str = "host";
/// The beginning of a folder's name; the numbers of the process and of its hierarchy follow.
pub const PREFIX: &str = "tare-sandbox.";

/// The version of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy for each controller.
    One,
    /// One hierarchy for all.
    Two,
}

/// Make a group, unless it is there.
pub fn make(folder: &Path) -> Result<(), String> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(format!(
            "cannot make the control group {}: {error}; limits need the right to: start the sandbox as root, \
             and a container of it with /sys/fs/cgroup to write to",
            folder.display()
        )),
        _ => Ok(()),
    }
}

/// Remove a group and those below it, all without processes.
pub fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

/// Write a value to a file of a group.
pub fn write(file: &Path, value: &str) -> Result<(), String> {
    fs::write(file, value)
        .map_err(|error| format!("cannot write {value} to {}: {error}", file.display()))
}

/// Open a file of a group to read it again and again, or to write to it.
pub fn access(file: &Path, write: bool) -> Result<File, String> {
    OpenOptions::new()
        .read(!write)
        .write(write)
        .open(file)
        .map_err(|error| format!("cannot open {}: {error}", file.display()))
}

/// Read what a file of a group says now.
pub fn contents(file: &File) -> io::Result<String> {
    let mut buffer = vec![0; 4096];
    let length = file.read_at(&mut buffer, 0)?;
    buffer.truncate(length);
    String::from_utf8(buffer).map_err(io::Error::other)
}
