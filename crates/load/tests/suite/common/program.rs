//! The program as a process, and the files that it writes.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Server;

/// Run the program against a server, for a second unless `arguments` say otherwise.
pub fn load(server: &Server, arguments: &[&str]) -> Output {
    let url = format!("http://{}/", server.address);
    let defaults = ["-c", "4", "-d", "1s", "--warmup", "100ms"];
    program(&[&[url.as_str()], &defaults[..], arguments].concat())
}

/// Run the program with these arguments alone.
pub fn program(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare-load"));
    command.args(arguments).output().expect("it starts")
}

/// What it printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file's name, and the file for as long as it is held.
pub struct File(pub PathBuf);

/// The number of names so far: tests of one process may want the same one at a time.
static NAMES: AtomicU64 = AtomicU64::new(0);

impl File {
    pub fn new(name: &str) -> Self {
        let number = NAMES.fetch_add(1, Relaxed);
        let name = format!("tare-load-{}-{number}-{name}", std::process::id());
        File(std::env::temp_dir().join(name))
    }

    /// A file of this text.
    pub fn holding(name: &str, text: impl AsRef<[u8]>) -> Self {
        let file = File::new(name);
        std::fs::write(&file.0, text).expect("a folder for temporary files");
        file
    }

    pub fn name(&self) -> &str {
        self.0.to_str().expect("a plain name")
    }

    /// What was written into it.
    pub fn text(&self) -> String {
        std::fs::read_to_string(&self.0).expect("it was written")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
