//! Descriptors that a new process is given: it expects them at low numbers, so here they lie high.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{Errno, fcntl_dupfd_cloexec};

/// Above the numbers that a worker's descriptors get.
const LOWEST: i32 = 16;

/// The same open file at a number that no worker's own descriptor has.
///
/// # Errors
///
/// The kernel's, when there are no more descriptors.
pub fn moved_up(descriptor: OwnedFd) -> Result<OwnedFd, Errno> {
    use std::os::fd::AsRawFd;
    if descriptor.as_raw_fd() >= LOWEST {
        return Ok(descriptor);
    }
    fcntl_dupfd_cloexec(descriptor.as_fd(), LOWEST)
}
