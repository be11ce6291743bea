//! Compiled modules of earlier loads, in a folder that only the daemon's user can read and write. What
//! is not whole, or another engine's, counts as absent.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use crate::binary::sha256;
use crate::home;

/// The most bytes of all that is kept.
const MOST: u64 = 256 << 20;
/// Bytes of a digest, with which each file begins.
const DIGEST: usize = 32;

/// The name of a compiled module: that of its bytes and its engine.
#[derive(Debug)]
pub struct Place(String);

impl Place {
    /// For a module's bytes and the key of an engine.
    pub fn of(module: &[u8], engine: u64) -> Self {
        let hex = sha256(module);
        Place(format!("{hex}.{engine:016x}"))
    }
}

/// The folder; none where the user has none of his own.
pub struct Cache {
    folder: Option<PathBuf>,
    most: u64,
}

impl Cache {
    /// Open the daemon's.
    pub fn open() -> Self {
        Cache {
            folder: home::private("modules").ok(),
            most: MOST,
        }
    }

    /// Return what was put there, if all of it is.
    pub fn get(&self, place: &Place) -> Option<Vec<u8>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_NOFOLLOW);
        let mut file = file.open(self.folder.as_ref()?.join(&place.0)).ok()?;
        let found = file.metadata().ok()?;
        if !found.is_file() || found.uid() != geteuid().as_raw() || found.len() > self.most {
            return None;
        }
        let mut digest = [0; DIGEST];
        file.read_exact(&mut digest).ok()?;
        let mut compiled = Vec::new();
        file.read_to_end(&mut compiled).ok()?;
        if Sha256::digest(&compiled)[..] != digest {
            return None;
        }
        // The last used is the last to go.
        let _ = file.set_modified(SystemTime::now());
        Some(compiled)
    }

    /// Keep it, if the disk takes it, and forget what was not used for longest if there is too much.
    pub fn put(&self, place: &Place, compiled: &[u8]) {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let size = (DIGEST + compiled.len()) as u64;
        let Some(folder) = self.folder.as_ref().filter(|_| size <= self.most) else {
            return;
        };
        self.make_room(size);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let new = folder.join(format!("new.{}.{number}", std::process::id()));
        let written = || {
            let mut options = OpenOptions::new();
            let mut file: File = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&new)?;
            file.write_all(&Sha256::digest(compiled))?;
            file.write_all(compiled)?;
            fs::rename(&new, folder.join(&place.0))
        };
        if written().is_err() {
            let _ = fs::remove_file(&new);
        }
    }

    fn make_room(&self, size: u64) {
        let entries = self
            .folder
            .iter()
            .flat_map(fs::read_dir)
            .flatten()
            .flatten();
        let mut kept: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let found = entry.metadata().ok()?;
                Some((found.modified().ok()?, found.len(), entry.path()))
            })
            .collect();
        kept.sort();
        let mut sum: u64 = kept.iter().map(|(_, size, _)| size).sum();
        for (_, size_of_it, path) in kept {
            if sum + size <= self.most {
                break;
            }
            let _ = fs::remove_file(path);
            sum -= size_of_it;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn cache(name: &str) -> Cache {
        let folder = std::env::temp_dir().join(format!("tare-{name}-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        Cache {
            folder: Some(folder),
            most: 300,
        }
    }

    fn file(cache: &Cache, place: &Place) -> PathBuf {
        cache.folder.as_ref().unwrap().join(&place.0)
    }

    #[test]
    fn only_what_is_whole_is_given_back() {
        let cache = cache("cache");
        let place = Place::of(b"module", 1);
        assert_eq!(cache.get(&place), None);
        cache.put(&place, b"compiled");
        assert_eq!(cache.get(&place), Some(b"compiled".to_vec()));
        assert_eq!(cache.get(&Place::of(b"module", 2)), None);
        assert_eq!(cache.get(&Place::of(b"another", 1)), None);
        let whole = fs::read(file(&cache, &place)).unwrap();
        let mut changed = whole.clone();
        changed[DIGEST] ^= 1;
        for bad in [&changed[..], &whole[..whole.len() - 1], b""] {
            fs::write(file(&cache, &place), bad).unwrap();
            assert_eq!(cache.get(&place), None);
        }
        let aside = file(&cache, &Place::of(b"aside", 1));
        fs::write(&aside, &whole).unwrap();
        fs::remove_file(file(&cache, &place)).unwrap();
        std::os::unix::fs::symlink(&aside, file(&cache, &place)).unwrap();
        assert_eq!(cache.get(&place), None);
        fs::remove_dir_all(cache.folder.unwrap()).unwrap();
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let cache = cache("room");
        let places: Vec<Place> = (0..4).map(|key| Place::of(b"module", key)).collect();
        for (age, place) in places.iter().take(3).enumerate() {
            cache.put(place, &[0; 60]);
            let used = SystemTime::now() - Duration::from_secs(100 - age as u64);
            let opened = File::open(file(&cache, place)).unwrap();
            opened.set_modified(used).unwrap();
        }
        assert!(cache.get(&places[0]).is_some());
        cache.put(&places[3], &[0; 60]);
        let kept: Vec<bool> = places
            .iter()
            .map(|place| cache.get(place).is_some())
            .collect();
        assert_eq!(kept, [true, false, true, true]);
        cache.put(&Place::of(b"huge", 1), &[0; 300]);
        assert_eq!(cache.get(&Place::of(b"huge", 1)), None);
        fs::remove_dir_all(cache.folder.unwrap()).unwrap();
    }
}
