//! Makes a thread another user, who keeps root's rights: whom it starts in a namespace of users is
//! that user for the host, too. The kernel keeps both for each thread.

use std::io::Error;

/// Let the thread change its user without losing its capabilities.
///
/// # Errors
///
/// The reason, in words.
pub fn keep_rights() -> Result<(), String> {
    // SAFETY: numbers only; changes this thread alone.
    let done = unsafe { libc::prctl(libc::PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) };
    check(done.into(), "keep capabilities as another user")
}

/// Of linux/securebits.h.
const SECBIT_NO_SETUID_FIXUP: libc::c_ulong = 1 << 2;

/// Become `user`, and the group of the same number.
///
/// # Errors
///
/// The reason, in words.
pub fn act_as(user: u32) -> Result<(), String> {
    let none: usize = 0;
    // SAFETY: numbers only; unlike the C library's functions, these change this thread alone.
    let (groups, group, own) = unsafe {
        (
            libc::syscall(libc::SYS_setgroups, none, none),
            libc::syscall(libc::SYS_setresgid, user, user, user),
            libc::syscall(libc::SYS_setresuid, user, user, user),
        )
    };
    check(groups, "leave all groups")?;
    check(group, "become another group")?;
    check(own, "become another user")
}

fn check(done: libc::c_long, what: &str) -> Result<(), String> {
    if done < 0 {
        return Err(format!("{what}: {}", Error::last_os_error()));
    }
    Ok(())
}
