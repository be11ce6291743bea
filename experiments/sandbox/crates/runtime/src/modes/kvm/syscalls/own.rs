//! System calls about the guest itself, and its end by a signal.

use super::guest::{Answer, Guest, Instead, error};
use crate::modes::kvm::wire::End;

/// Its process and its thread.
pub const PROCESS: u64 = 1;
/// `stack_t` of a thread without an alternative stack.
pub const NO_STACK: [u8; 24] = {
    let mut bytes = [0; 24];
    bytes[8] = libc::SS_DISABLE as u8;
    bytes
};
const SIGNAL_MAX: u64 = 64;
/// Addresses of user space end here.
const USER_END: u64 = 1 << 47;
const STACK: u64 = 8 << 20;
const FILES: u64 = 4;
/// The result of `uname`: a C library refuses to start on a kernel that it considers too old.
const NAMES: [&str; 6] = ["Linux", "udf", "6.1.0", "tare", "x86_64", ""];
const NAME_LENGTH: usize = 65;

/// `kill` and its like: of the guest itself, or of nobody. There are no handlers.
pub fn signal(process: u64, signal: u64) -> Answer {
    match (process as i32, signal as u32 as u64) {
        (_, number) if number > SIGNAL_MAX => error(libc::EINVAL),
        (0 | 1, 0) => Ok(0),
        (0 | 1, number) => Err(Instead::End(End::Signal(number as i32))),
        _ => error(libc::ESRCH),
    }
}

/// Take note of nothing, and says that the state before was `state`.
pub fn old_state(guest: &mut Guest, at: u64, state: &[u8]) -> Answer {
    guest.give(at, state)
}

/// `arch_prctl`.
pub fn base(guest: &mut Guest, what: u64, value: u64) -> Answer {
    const SET_GS: u64 = 0x1001;
    const SET_FS: u64 = 0x1002;
    const GET_FS: u64 = 0x1003;
    const GET_GS: u64 = 0x1004;
    match what {
        SET_FS | SET_GS if value >= USER_END => error(libc::EPERM),
        SET_FS => {
            guest.own.bases[0] = value;
            Ok(0)
        }
        SET_GS => {
            guest.own.bases[1] = value;
            Ok(0)
        }
        GET_FS => guest.give(value, &guest.own.bases[0].to_le_bytes()),
        GET_GS => guest.give(value, &guest.own.bases[1].to_le_bytes()),
        _ => error(libc::EINVAL),
    }
}

/// `prctl`: names are taken note of by nobody.
pub fn option(what: u64) -> Answer {
    if what as i32 == libc::PR_SET_NAME {
        Ok(0)
    } else {
        error(libc::EINVAL)
    }
}

/// `prlimit64`: reads limits only.
pub fn limit(guest: &mut Guest, resource: u64, new: u64, old: u64) -> Answer {
    if new != 0 {
        return error(libc::EPERM);
    }
    let most = match resource as u32 {
        libc::RLIMIT_STACK => STACK,
        libc::RLIMIT_NOFILE => FILES,
        _ => libc::RLIM_INFINITY,
    };
    guest.give(old, &[most.to_le_bytes(), most.to_le_bytes()].concat())
}

/// `getrandom`.
pub fn random(guest: &mut Guest, at: u64, length: u64) -> Answer {
    let into = guest.buffer(at, length, true)?;
    // SAFETY: the guest's buffer lies there, which `buffer` has checked, and it does not run.
    let count = unsafe { libc::getrandom(into.cast(), length as usize, 0) };
    u64::try_from(count).or_else(|_| error(libc::EAGAIN))
}

/// `uname`.
pub fn name(guest: &mut Guest, at: u64) -> Answer {
    let mut bytes = [0; NAMES.len() * NAME_LENGTH];
    for (index, name) in NAMES.iter().enumerate() {
        bytes[index * NAME_LENGTH..][..name.len()].copy_from_slice(name.as_bytes());
    }
    guest.give(at, &bytes)
}

/// `sched_getaffinity`: one processor.
pub fn processors(guest: &mut Guest, length: u64, at: u64) -> Answer {
    if length < 8 {
        return error(libc::EINVAL);
    }
    guest.give(at, &1u64.to_le_bytes())?;
    Ok(8)
}
