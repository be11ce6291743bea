//! Folders of the host's that a worker needs while it starts, named after the process that makes
//! them, so that the next one takes away what a killed one left.

use std::fs;
use std::path::{Path, PathBuf};

use crate::slot::Slot;

const PREFIX: &str = "tare-sandbox.";

/// A slot's folder, which its mode makes.
pub fn folder(slot: &Slot) -> PathBuf {
    let name = format!("{PREFIX}{}.{}", std::process::id(), slot.number);
    std::env::temp_dir().join(name)
}

/// Remove a folder with the empty folders in it, and nothing else.
pub fn take_away(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let _ = fs::remove_dir(entry.path());
    }
    let _ = fs::remove_dir(folder);
}

/// Remove the folders of processes that are gone.
pub fn sweep() {
    let entries = fs::read_dir(std::env::temp_dir());
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('.').next());
        let pid = owner.and_then(|owner| owner.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            take_away(&entry.path());
        }
    }
}
