//! Children of this process that it has not started: a process may ask for its own parent as that of
//! a new one.

use std::fs;

use crate::children::children;

/// Collect those that have ended in the group `path` of version 2, or below it. Nobody else may be
/// about to collect one of that group.
pub fn collect(path: &str) {
    for child in children(std::process::id() as i32) {
        let groups = fs::read_to_string(format!("/proc/{child}/cgroup")).unwrap_or_default();
        let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
        // The hierarchy may be mounted from further down than this process's groups are named.
        if own.is_some_and(|own| own.ends_with(path)) {
            let end = libc::WEXITED | libc::WNOHANG;
            // SAFETY: the kernel writes nothing.
            unsafe { libc::waitid(libc::P_PID, child as u32, std::ptr::null_mut(), end) };
        }
    }
}
