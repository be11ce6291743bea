//! The limits of one call.

use std::time::Duration;

/// The most that a worker may have and do. Each is enforced by the kernel or by the host, never by
/// the binary's good will.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory, of all its processes together.
    pub memory_bytes: u64,
    /// Processes and threads at once.
    pub processes: u32,
    /// Seconds of CPU time of a call, of all its processes together.
    pub cpu_s: u32,
    /// Open files, its socket and its three standard streams included.
    pub files: u32,
    /// Time from the call to the response.
    pub deadline: Duration,
    /// Time from its start to its ready byte.
    pub start: Duration,
    /// Bytes of a request.
    pub request_bytes: usize,
    /// Bytes of a response, and of each callback.
    pub response_bytes: usize,
    /// Callbacks of one call.
    pub callbacks: u32,
    /// Bytes of the log of a binary, in two files.
    pub log_bytes: u64,
    /// Bytes that are read for that log in a second.
    pub log_rate: u64,
    /// True if its request and response may be in memory that it shares with the host.
    pub shared: bool,
    /// Seconds of CPU time that compiling a module may take.
    pub compile_s: u32,
    /// Bytes of memory that compiling a module may take.
    pub compile_bytes: u64,
}

/// The most that [`Limits::files`] can be: the binary's own descriptor lies above them.
pub const FILES_MAX: u32 = 128;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory_bytes: 256 << 20,
            processes: 16,
            cpu_s: 60,
            files: 64,
            deadline: Duration::from_secs(10),
            start: Duration::from_secs(5),
            request_bytes: 64 << 20,
            response_bytes: 64 << 20,
            callbacks: 1000,
            log_bytes: 1 << 20,
            log_rate: 32 << 20,
            shared: false,
            compile_s: 10,
            compile_bytes: 512 << 20,
        }
    }
}

impl Limits {
    /// Refuse what no worker could live with.
    ///
    /// # Errors
    ///
    /// Names the limit, what was found and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        let whole = |name: &str, found: u64, least: u64, most: u64| {
            if (least..=most).contains(&found) {
                Ok(())
            } else {
                Err(format!("{name}: found {found}, expected {least} to {most}"))
            }
        };
        whole("memory_bytes", self.memory_bytes, 1 << 20, u64::MAX)?;
        whole("processes", self.processes.into(), 1, 1 << 20)?;
        whole("cpu_s", self.cpu_s.into(), 1, u32::MAX.into())?;
        whole("files", self.files.into(), 8, FILES_MAX.into())?;
        whole("log_bytes", self.log_bytes, 4096, 1 << 40)?;
        whole("log_rate", self.log_rate, 4096, 1 << 40)?;
        whole(
            "deadline in milliseconds",
            self.deadline.as_millis() as u64,
            1,
            1 << 40,
        )?;
        whole(
            "start in milliseconds",
            self.start.as_millis() as u64,
            1,
            1 << 40,
        )?;
        whole(
            "request_bytes",
            self.request_bytes as u64,
            0,
            u32::MAX.into(),
        )?;
        whole(
            "response_bytes",
            self.response_bytes as u64,
            0,
            u32::MAX.into(),
        )
    }
}
