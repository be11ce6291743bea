//! CPU time of control groups, read at the borders of a duel's rounds.
//!
//! A side's own time in whole rounds, divided by its answers in the same rounds, leaves out what a
//! disturbed round cost, and still charges for work that a server does in the other's slices.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::spec::AccountFiles;

/// The groups of one target.
#[derive(Debug)]
pub struct Accounts {
    files: Vec<(String, File)>,
    /// The last readings, in nanoseconds, in the files' order.
    last: Vec<u64>,
}

impl Accounts {
    /// Open the files.
    ///
    /// # Errors
    /// If one cannot be read, or has no CPU time.
    pub fn open(files: &AccountFiles) -> io::Result<Self> {
        let open = |(role, path): (&String, &PathBuf)| {
            let explain =
                |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", path.display()));
            let file = File::open(path).map_err(explain)?;
            let found = read(&file).map_err(explain)?;
            Ok(((role.clone(), file), found))
        };
        let (files, last) = files
            .iter()
            .map(open)
            .collect::<io::Result<Vec<_>>>()?
            .into_iter()
            .unzip();
        Ok(Accounts { files, last })
    }

    /// Read all files; return what was used since the last reading, in nanoseconds, by role.
    pub fn read(&mut self) -> BTreeMap<String, u64> {
        let mut used = BTreeMap::new();
        for ((role, file), last) in self.files.iter().zip(&mut self.last) {
            // A group is gone only after its role: the laboratory knows that the trial has failed.
            let Ok(now) = read(file) else { continue };
            used.insert(role.clone(), now.saturating_sub(*last));
            *last = now;
        }
        used
    }
}

/// Nanoseconds of a `cpuacct.usage` (version 1 of control groups) or a `cpu.stat` (version 2).
fn read(file: &File) -> io::Result<u64> {
    let mut bytes = [0; 256];
    let length = file.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    let mut words = text.split_ascii_whitespace();
    let found = match words.next() {
        Some("usage_usec") => words
            .next()
            .and_then(|word| word.parse::<u64>().ok())
            .map(|us| us * 1000),
        word => word.and_then(|word| word.parse().ok()),
    };
    found.ok_or_else(|| {
        io::Error::new(
            ErrorKind::InvalidData,
            "no CPU time, expected cpuacct.usage or cpu.stat",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(name: &str, text: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("tare-accounts-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn both_kinds_of_files_are_read() {
        let [one, two] = [
            ("v1", "5000\n"),
            ("v2", "usage_usec 7\nuser_usec 3\nsystem_usec 4\n"),
        ]
        .map(|(name, text)| write(name, text));
        let files = AccountFiles::from([("one".into(), one.clone()), ("two".into(), two.clone())]);
        let mut accounts = Accounts::open(&files).unwrap();
        fs::write(&one, "6500\n").unwrap();
        fs::write(&two, "usage_usec 9\n").unwrap();
        let expected = BTreeMap::from([("one".into(), 1500), ("two".into(), 2000)]);
        assert_eq!(accounts.read(), expected);
        fs::write(&one, "7000\n").unwrap();
        let expected = BTreeMap::from([("one".into(), 500), ("two".into(), 0)]);
        assert_eq!(accounts.read(), expected);
        fs::remove_file(one).unwrap();
        fs::remove_file(two).unwrap();
    }

    #[test]
    fn a_file_without_cpu_time_is_named() {
        for (name, text) in [("empty", ""), ("words", "some words"), ("minus", "-5")] {
            let path = write(name, text);
            let error =
                Accounts::open(&AccountFiles::from([("sut".into(), path.clone())])).unwrap_err();
            assert!(
                error.to_string().contains(path.to_str().unwrap()),
                "{error}"
            );
            fs::remove_file(path).unwrap();
        }
        let absent = AccountFiles::from([("sut".into(), PathBuf::from("/nowhere/cpuacct.usage"))]);
        assert!(
            Accounts::open(&absent)
                .unwrap_err()
                .to_string()
                .starts_with("/nowhere/cpuacct.usage: ")
        );
    }
}
