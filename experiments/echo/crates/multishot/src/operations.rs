//! The operations that make it cheap, and the ring that they need.

use std::os::fd::RawFd;

use anyhow::{Context, Result};
use io_uring::squeue::Entry;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};

use crate::buffers::GROUP;
use crate::flow::Next;

const SUBMISSIONS: u32 = 1024;
const COMPLETIONS: u32 = 8192;

/// A ring whose completions are made when its thread waits for them, and by nobody else.
pub fn ring() -> Result<IoUring> {
    IoUring::builder()
        .setup_cqsize(COMPLETIONS)
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .build(SUBMISSIONS)
        .context(
            "the kernel does not set up an io_uring with DEFER_TASKRUN: it must be 6.1 or newer, \
             with the sysctl kernel.io_uring_disabled at 0",
        )
}

/// Clients, until it fails.
pub fn accept(listener: RawFd) -> Entry {
    opcode::AcceptMulti::new(Fd(listener))
        .flags(libc::SOCK_CLOEXEC)
        .build()
}

/// Pieces, until the stream ends or the buffers are used up.
pub fn receive(socket: RawFd) -> Entry {
    opcode::RecvMulti::new(Fd(socket), GROUP).build()
}

/// Send bytes that must stay where they are until it completes.
pub fn send(socket: RawFd, next: &Next) -> Entry {
    opcode::Send::new(Fd(socket), next.from, next.count)
        .flags(next.flags | libc::MSG_NOSIGNAL)
        .build()
}
