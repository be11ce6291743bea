//! Descriptors: how many this process may have, and those that a new process is given. It expects them at
//! low numbers, so here they lie high.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::FILES_MAX;

/// Above all numbers that a worker's descriptors get: dup3 refuses to move one to its own number.
const LOWEST: i32 = FILES_MAX as i32 + 1;

/// Enough for any daemon: it has a few for each worker and each connection.
const ENOUGH: u64 = 1 << 16;

/// Let this process have as many descriptors as the host allows, and as are enough. Return how many that
/// are.
pub fn raise() -> u64 {
    let found = getrlimit(Resource::Nofile);
    let most = found.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    let current = found.current.unwrap_or(ENOUGH);
    let raised = Rlimit {
        current: Some(most),
        ..found
    };
    if current < most && setrlimit(Resource::Nofile, raised).is_ok() {
        return most;
    }
    current
}

/// The same open file at a number that no worker's own descriptor has.
///
/// # Errors
///
/// The kernel's, when there are no more descriptors.
pub fn moved_up(descriptor: OwnedFd) -> Result<OwnedFd, Errno> {
    if descriptor.as_raw_fd() >= LOWEST {
        return Ok(descriptor);
    }
    fcntl_dupfd_cloexec(descriptor.as_fd(), LOWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_a_worker_is_left() {
        let null = std::fs::File::open("/dev/null").unwrap();
        for lowest in [0, 3, 16, LOWEST - 2, LOWEST - 1] {
            let descriptor = fcntl_dupfd_cloexec(&null, lowest).unwrap();
            assert!(moved_up(descriptor).unwrap().as_raw_fd() >= LOWEST);
        }
    }
}
