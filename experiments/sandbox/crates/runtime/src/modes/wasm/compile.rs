//! Has modules compiled by a process of their own, one at a time, within limits.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, geteuid, pidfd_open};

use super::compiler::OUTPUT_MAX;
use crate::binary::Binary;
use crate::limits::Limits;
use crate::lock::lock;
use crate::modes::requirements::beside;
use crate::numbers::Spare;

const COMPILER: &str = "tare-sandbox-compiler";
/// The time that a compiler may take, in multiples of its CPU time, on a machine with other work.
const SHARE: u32 = 4;
/// The most bytes of what a compiler says.
const WORDS: u64 = 64 << 10;

/// Compile a module.
///
/// # Errors
///
/// What is wrong with it, or the limit that was passed, in words.
pub fn compile(binary: &Binary, limits: &Limits) -> Result<Vec<u8>, String> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = lock(&ONE);
    let words = |error: std::io::Error| format!("{COMPILER}: {error}");
    let output =
        memfd_create("compiled", MemfdFlags::CLOEXEC).map_err(|error| words(error.into()))?;
    let output = File::from(output);
    let module = binary.file().try_clone_to_owned().map_err(words)?;
    let user = geteuid().is_root().then(Spare::take).transpose()?;
    let mut command = Command::new(beside(COMPILER)?);
    command
        .env_clear()
        .arg(limits.compile_s.to_string())
        .arg(limits.compile_bytes.to_string())
        .args(user.as_ref().map(|user| user.user().to_string()))
        .stdin(module)
        .stdout(output.try_clone().map_err(words)?)
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(words)?;
    let ended = wait(
        &mut child,
        Duration::from_secs(limits.compile_s.into()) * SHARE,
    );
    if !matches!(ended, Ok(true)) {
        let _ = child.kill();
    }
    let status = child.wait().map_err(words)?;
    let mut said = Vec::new();
    if let Some(stream) = child.stderr.take() {
        // Nobody else has its other end.
        stream.take(WORDS).read_to_end(&mut said).map_err(words)?;
    }
    if !ended.map_err(words)? {
        return Err(too_much(
            &format!("{} s", limits.compile_s * SHARE),
            "--compile-s",
        ));
    }
    judge(status, &String::from_utf8_lossy(&said), limits)?;
    let length = output.metadata().map_err(words)?.len();
    let mut compiled = vec![0; length as usize];
    output.read_exact_at(&mut compiled, 0).map_err(words)?;
    Ok(compiled)
}

/// Return true if it has ended within so long.
fn wait(child: &mut Child, patience: Duration) -> std::io::Result<bool> {
    let pid = Pid::from_child(child);
    let ended: OwnedFd = pidfd_open(pid, PidfdFlags::empty())?;
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => {}
            other => return Ok(other? > 0),
        }
    }
}

fn judge(status: ExitStatus, said: &str, limits: &Limits) -> Result<(), String> {
    let memory = || {
        too_much(
            &format!("{} MiB of memory", limits.compile_bytes >> 20),
            "--compile-mb",
        )
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        // The allocator's words, before it gives up.
        (_, _) if said.contains("memory allocation of") || said.contains("out of memory") => {
            Err(memory())
        }
        (Some(_), _) => Err(said.trim().to_owned()),
        (_, Some(libc::SIGXCPU)) => {
            let most = format!("{} s of CPU time", limits.compile_s);
            Err(too_much(&most, "--compile-s"))
        }
        (_, Some(libc::SIGXFSZ)) => Err(format!(
            "the module, compiled, takes more than {} MiB",
            OUTPUT_MAX >> 20
        )),
        _ => Err(format!("{COMPILER} ended with {status}: {}", said.trim())),
    }
}

fn too_much(what: &str, option: &str) -> String {
    format!(
        "compiling the module takes more than {what}; load a smaller one, or start the sandbox with a larger {option}"
    )
}
