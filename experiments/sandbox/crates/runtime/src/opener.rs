//! Opens a log's file, in this process or by asking another one.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Open = dyn Fn(bool) -> Result<File> + Send + Sync;

/// Opens one file again and again.
#[derive(Clone)]
pub struct Opener(Arc<Open>);

impl Opener {
    /// Open by `open`, which is told whether the file is full and is to become the one before.
    pub fn new(open: impl Fn(bool) -> Result<File> + Send + Sync + 'static) -> Self {
        Opener(Arc::new(open))
    }

    /// Open the file at `path`.
    pub fn of(path: PathBuf) -> Self {
        Opener::new(move |turn| anew(&path, turn))
    }

    /// Open the file, which is empty then.
    ///
    /// # Errors
    ///
    /// The kernel's, with the file's name.
    pub fn open(&self, turn: bool) -> Result<File> {
        (self.0)(turn)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

/// Begin the file at `path` anew. If it is to `turn`, what is there is kept as the one [`before`].
///
/// # Errors
///
/// The kernel's, with the file's name.
pub fn anew(path: &Path, turn: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW);
    let turned = if turn {
        fs::rename(path, before(path))
    } else {
        Ok(())
    };
    let named = |error: Error| Error::new(error.kind(), format!("{}: {error}", path.display()));
    turned.and_then(|()| options.open(path)).map_err(named)
}

/// Return the file of the older part of the log at `path`.
pub fn before(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".old");
    name.into()
}
