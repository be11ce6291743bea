//! The limit of open files, which each thread can have for itself.

use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Descriptors that are no connections: standard streams, pollers, and some to spare.
const OTHERS: u64 = 64;

/// Raise the limit of open files so that each of `threads` can have its part of `connections` open
/// at once. Return true if each thread needs a table of descriptors of its own.
///
/// # Errors
/// When the limit is too low, and this user may not raise it.
pub fn allow(connections: usize, threads: usize) -> io::Result<bool> {
    if raise(connections) {
        return Ok(false);
    }
    if threads > 1 && raise(connections.div_ceil(threads)) {
        return Ok(true);
    }
    let needed = needed(connections);
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let enough = needed.div_ceil(limit.saturating_sub(OTHERS).max(1));
    Err(io::Error::other(format!(
        "connections: {connections} need {needed} open files, but the limit is {limit}; raise it \
         (ulimit -Hn), or take {enough} threads, each of which has a limit of its own"
    )))
}

/// Give the calling thread a table of descriptors of its own, with a limit of its own.
///
/// # Errors
/// When the kernel refuses.
pub fn separate() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_FILES)?)
}

fn needed(connections: usize) -> u64 {
    (connections as u64).saturating_add(OTHERS)
}

fn raise(connections: usize) -> bool {
    let needed = needed(connections);
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return true;
    }
    limit.current = Some(needed);
    // Root may raise the hard limit, too.
    limit.maximum = limit.maximum.map(|maximum| maximum.max(needed));
    setrlimit(Resource::Nofile, limit).is_ok()
}
