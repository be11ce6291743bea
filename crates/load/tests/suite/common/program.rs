//! The program as a process, and the files that it writes.

use std::path::PathBuf;
use std::process::{Command, Output};

use super::Server;

/// Run the program against a server, for a second unless `arguments` say otherwise.
pub fn load(server: &Server, arguments: &[&str]) -> Output {
    let url = format!("http://{}/", server.address);
    let defaults = ["-c", "4", "-d", "1s", "--warmup", "100ms"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare-load"));
    command.arg(url).args(defaults).args(arguments);
    command.output().expect("it starts")
}

/// What it printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file's name, for as long as it is held.
pub struct File(pub PathBuf);

impl File {
    pub fn new(name: &str) -> Self {
        let name = format!("tare-load-{}-{name}", std::process::id());
        File(std::env::temp_dir().join(name))
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
