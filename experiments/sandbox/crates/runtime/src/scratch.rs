//! Folders of the host's that workers need while they start. They lie in one folder for each template,
//! which is held as long as that lives, so that the next runtime takes away what a killed one left.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::home;
use crate::lock::{Held, hold};
use crate::slot::Slot;

const PREFIX: &str = "roots.";

/// A folder of folders.
pub struct Scratch {
    folder: PathBuf,
    _held: Held,
}

impl Scratch {
    /// Make one.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn new() -> Result<Self, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}.{number}", std::process::id());
        let folder = home::make()?.join(name);
        let held = fs::create_dir(&folder)
            .and_then(|()| File::open(&folder))
            .map_err(|error| error.to_string())
            .and_then(|opened| hold(opened).ok_or("somebody else holds it".into()));
        match held {
            Ok(held) => Ok(Scratch {
                folder,
                _held: held,
            }),
            Err(why) => Err(format!("{}: {why}", folder.display())),
        }
    }

    /// The folder of a slot, which its mode makes.
    pub fn folder(&self, slot: &Slot) -> PathBuf {
        self.folder.join(slot.number.to_string())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Remove a folder with the empty folders in it, and nothing else.
pub fn take_away(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let _ = fs::remove_dir(entry.path());
    }
    let _ = fs::remove_dir(folder);
}

/// Remove what nobody holds any more.
pub fn sweep() {
    let entries = home::place().map(fs::read_dir);
    for entry in entries.into_iter().flatten().flatten().flatten() {
        let (name, folder) = (entry.file_name(), entry.path());
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !ours || File::open(&folder).ok().and_then(hold).is_none() {
            continue;
        }
        for slot in fs::read_dir(&folder).into_iter().flatten().flatten() {
            take_away(&slot.path());
        }
        let _ = fs::remove_dir(&folder);
    }
}
