//! The file of the audit log and the one before it: whole lines, and no more bytes than they may have.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::geteuid;
use sandbox_runtime::opener::{self, Opener};

/// A file that is appended to. When it is full it becomes the one before, and a new one is begun.
pub struct File {
    /// Makes a full file the one before, and begins the next.
    turn: Opener,
    file: fs::File,
    length: u64,
    most: u64,
}

impl File {
    /// Continue the file at `path`, which has `most` bytes at most.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn open(path: &Path, most: u64) -> Result<Self, String> {
        let mut file = opened(path, false).map_err(|error| error.to_string())?;
        let about = file.metadata().map_err(|error| error.to_string())?;
        if !about.is_file() {
            return Err("it is no regular file; name another".into());
        }
        if about.uid() != geteuid().as_raw() {
            return Err("it belongs to another user; name another".into());
        }
        let held = flock(&file, FlockOperation::NonBlockingLockExclusive);
        held.map_err(|_| "another daemon writes it; name another")?;
        let length = whole(&mut file).map_err(|error| error.to_string())?;
        let path = path.to_owned();
        Ok(File {
            turn: Opener::new(move |turn| opened(&path, turn)),
            file,
            length,
            most,
        })
    }

    /// Append a line, or nothing of it.
    ///
    /// # Errors
    ///
    /// The kernel's; a later line may be written again.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.length + line.len() as u64 > self.most {
            self.turn()?;
        }
        let written = self.file.write_all(line);
        match written {
            Ok(()) => self.length += line.len() as u64,
            // What was written of it goes: the next line begins where this one did.
            Err(_) => self.file.set_len(self.length)?,
        }
        written
    }

    /// Have it turned by another process, which may name it.
    #[must_use]
    pub fn turned_by(self, turn: Opener) -> Self {
        File { turn, ..self }
    }

    fn turn(&mut self) -> io::Result<()> {
        self.file = self.turn.open(true)?;
        flock(&self.file, FlockOperation::NonBlockingLockExclusive)?;
        self.length = self.file.metadata()?.len();
        Ok(())
    }
}

/// Open the file at `path` to append to it. If it is to `turn`, what is there becomes the one before.
///
/// # Errors
///
/// The kernel's.
pub fn opened(path: &Path, turn: bool) -> io::Result<fs::File> {
    if turn {
        match fs::rename(path, opener::before(path)) {
            // It was moved away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => moved?,
        }
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    // A pipe without a reader would be waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.custom_flags(flags.bits() as i32).open(path)
}

/// End the last line of a file, of which a daemon that was killed may have written a part. Return the file's length.
fn whole(file: &mut fs::File) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last == *b"\n" {
        return Ok(length);
    }
    file.write_all(b"\n")?;
    Ok(length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let name = format!("tare-audit-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn both_files_are_bounded_and_have_whole_lines() {
        let folder = folder("bounded");
        let path = folder.join("audit");
        let mut file = File::open(&path, 100).unwrap();
        for number in 0..100 {
            file.append(format!("{number:08}\n").as_bytes()).unwrap();
        }
        for (path, least) in [(path, 1), (folder.join("audit.old"), 11)] {
            let text = fs::read_to_string(path).unwrap();
            assert!(text.len() <= 100 && text.lines().count() >= least);
            assert!(text.lines().all(|line| line.len() == 8), "{text}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_was_there_is_continued_after_its_last_line() {
        let folder = folder("continued");
        let path = folder.join("audit");
        fs::write(&path, "one\nhal").unwrap();
        let mut file = File::open(&path, 100).unwrap();
        file.append(b"two\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nhal\ntwo\n");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn links_pipes_folders_and_files_in_use_are_refused() {
        let folder = folder("refused");
        let path = folder.join("audit");
        let held = File::open(&path, 100).unwrap();
        let why = |path: &Path| File::open(path, 100).err().unwrap();
        assert!(why(&path).contains("another daemon writes it"));
        drop(held);
        std::os::unix::fs::symlink(&path, folder.join("link")).unwrap();
        assert!(why(&folder.join("link")).contains("symbolic link"));
        assert!(why(&folder).contains("directory"));
        assert!(why(Path::new("/dev/null")).contains("no regular file"));
        fs::remove_dir_all(folder).unwrap();
    }
}
