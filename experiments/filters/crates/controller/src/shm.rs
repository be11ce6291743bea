//! Shared memory by name, owned by one controller at a time.
//!
//! Owning is holding the file's lock, which the kernel gives up with the process: a process number may
//! be in use again by somebody else.

use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result, bail};
use rustix::fs::{FallocateFlags, FlockOperation, Mode, fallocate, fcntl_lock, flock, fstat};
use rustix::io::Errno;
use rustix::shm;

use crate::layout::PREFIX_MAX;

/// The origin of the owner's memory.
#[derive(Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was not there.
    Made,
    /// A controller, whose process this was, left it behind.
    Recovered(u32),
}

/// The memory's file with its owner's lock held, made if it was not there; `None` when its owner lives.
pub fn lock(name: &str) -> Result<Option<OwnedFd>> {
    loop {
        let flags = shm::OFlags::CREATE | shm::OFlags::RDWR;
        let file = shm::open(name, flags, Mode::RUSR | Mode::WUSR).with_context(|| {
            format!("the shared memory {name} cannot be made; choose another --shm")
        })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            other => other?,
        }
        // Its last owner may have removed the name between the two steps.
        if is_named(&file, name)? {
            return Ok(Some(file));
        }
    }
}

/// The memory's file, to read or write what is in it; `None` when there is none.
pub fn open(name: &str) -> Result<Option<OwnedFd>> {
    match shm::open(name, shm::OFlags::RDWR, Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        other => Ok(Some(other.with_context(|| {
            format!("the shared memory {name} cannot be opened; run this as its controller's user")
        })?)),
    }
}

/// Bytes of the file.
pub fn size(file: impl AsFd) -> Result<u64> {
    Ok(fstat(file)?.st_size as u64)
}

/// Give the empty file its size, with room for it: a hole would fail when a worker counts in it.
pub fn reserve(file: impl AsFd, name: &str, size: u64) -> Result<()> {
    fallocate(file, FallocateFlags::empty(), 0, size).or_else(|error| {
        shm::unlink(name)?;
        Err(error).with_context(|| {
            format!("there is no room for the shared memory {name}; free some of /dev/shm")
        })
    })
}

/// Run `work` while nobody else does, in whatever process; the owner's lock is another one.
pub fn alone<T>(file: impl AsFd, work: impl FnOnce() -> T) -> Result<T> {
    fcntl_lock(&file, FlockOperation::LockExclusive)?;
    let result = work();
    fcntl_lock(&file, FlockOperation::Unlock)?;
    Ok(result)
}

/// Remove the name, if it still is this file's. Who has it mapped keeps it.
pub fn remove(file: impl AsFd, name: &str) -> Result<()> {
    if is_named(file, name)? {
        shm::unlink(name).with_context(|| {
            format!("the shared memory {name} cannot be removed; remove /dev/shm{name}")
        })?;
    }
    Ok(())
}

fn is_named(file: impl AsFd, name: &str) -> Result<bool> {
    match shm::open(name, shm::OFlags::RDONLY, Mode::empty()) {
        Err(Errno::NOENT) => Ok(false),
        other => Ok(fstat(other?)?.st_ino == fstat(file)?.st_ino),
    }
}

/// Return the error message for a second controller. `program` is its name.
pub fn live(program: &str, name: &str, owner: Option<u32>) -> String {
    let owner = owner.map_or("another process".to_owned(), |pid| format!("process {pid}"));
    format!(
        "the shared memory {name} belongs to a running controller, {owner}; stop it, choose another --shm, or change its prefix: {program} set --shm {name} --prefix /aaaa"
    )
}

/// Return the error message for missing memory. `start` begins the command line that starts the
/// controller.
pub fn missing(start: &str, name: &str) -> String {
    format!(
        "there is no shared memory {name}; start its controller: {start} --shm {name} --prefix /aaaa"
    )
}

/// Return the error message for memory of another layout.
pub fn foreign(name: &str) -> String {
    format!(
        "the shared memory {name} has another layout than this controller's; remove /dev/shm{name} or choose another --shm"
    )
}

/// Check that `name` is a name of shared memory.
pub fn check_name(name: &str) -> Result<()> {
    let rest = name.strip_prefix('/').unwrap_or("");
    if rest.is_empty() || rest.contains('/') || name.len() > 255 {
        bail!(
            "--shm: found {name:?}, expected a slash and then a name of at most 254 bytes without one, as /filter"
        );
    }
    Ok(())
}

/// Check that a prefix is short enough.
pub fn check_prefix(prefix: &[u8]) -> Result<()> {
    if prefix.len() > PREFIX_MAX {
        bail!(
            "the prefix has {} bytes; give one of at most {PREFIX_MAX}",
            prefix.len()
        );
    }
    Ok(())
}
