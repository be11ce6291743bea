//! The process's limit of open files.

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};

/// Descriptors that are no connections: standard streams, pollers, and some to spare.
const OTHERS: u64 = 64;

/// Raises the soft limit of open files so far that `connections` can be open at once.
///
/// # Errors
/// When the hard limit is lower.
pub fn allow(connections: usize) -> io::Result<()> {
    let needed = connections as u64 + OTHERS;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(maximum) = limit.maximum.filter(|maximum| *maximum < needed) {
        return Err(io::Error::other(format!(
            "connections: {connections} need {needed} open files, but the limit is {maximum}; raise it (ulimit -Hn)"
        )));
    }
    limit.current = Some(needed);
    Ok(setrlimit(Resource::Nofile, limit)?)
}
