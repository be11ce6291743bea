//! The daemon's socket among the host's files.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};

/// A socket that clients see once it is announced.
pub struct Place {
    socket: PathBuf,
    hidden: PathBuf,
    is_announced: AtomicBool,
}

impl Place {
    /// At `socket`.
    pub fn new(socket: &Path) -> Self {
        Place {
            socket: socket.to_owned(),
            hidden: socket.with_extension("new"),
            is_announced: AtomicBool::new(false),
        }
    }

    /// Listen there, and let nobody see it yet.
    ///
    /// # Errors
    ///
    /// When another daemon serves there, and the kernel's.
    pub fn listen(&self) -> Result<UnixListener> {
        if UnixStream::connect(&self.socket).is_ok() {
            bail!(
                "{}: another sandbox serves here; stop it, or choose another --socket",
                self.socket.display()
            );
        }
        // A caller can run programs: only the owner may call, from the first moment.
        let hidden = &self.hidden;
        let _ = fs::remove_file(hidden);
        let listener = UnixListener::bind(hidden).with_context(|| hidden.display().to_string())?;
        fs::set_permissions(hidden, fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// Let clients see it.
    ///
    /// # Errors
    ///
    /// The kernel's, with the socket's name.
    pub fn announce(&self) -> io::Result<()> {
        let named = |error: io::Error| {
            let named = format!("{}: {error}", self.socket.display());
            io::Error::new(error.kind(), named)
        };
        fs::rename(&self.hidden, &self.socket).map_err(named)?;
        self.is_announced.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Remove it, on which this process listens.
    pub fn remove(&self) {
        let is_announced = self.is_announced.load(Ordering::SeqCst);
        let file = if is_announced {
            &self.socket
        } else {
            &self.hidden
        };
        let _ = fs::remove_file(file);
    }
}
