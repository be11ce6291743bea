//! The system calls that a monitor may make: those of its guest, and those that run the guest. None
//! names a file, a process or a socket's address. Any other call ends the monitor.

use libc as sys;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule,
};

use super::snapshot::PAGEMAP_SCAN;
use crate::modes::landlock;
use crate::process::filter;

const CALLS: &[i64] = &[
    sys::SYS_read,
    sys::SYS_write,
    sys::SYS_recvfrom,
    sys::SYS_sendto,
    sys::SYS_recvmsg,
    sys::SYS_sendmsg,
    sys::SYS_shutdown,
    sys::SYS_close,
    sys::SYS_poll,
    sys::SYS_ppoll,
    sys::SYS_memfd_create,
    sys::SYS_ftruncate,
    sys::SYS_fcntl,
    sys::SYS_pwrite64,
    sys::SYS_mmap,
    sys::SYS_munmap,
    sys::SYS_mprotect,
    sys::SYS_mremap,
    sys::SYS_madvise,
    sys::SYS_brk,
    sys::SYS_getrandom,
    sys::SYS_clock_gettime,
    sys::SYS_setitimer,
    sys::SYS_rt_sigreturn,
    sys::SYS_rt_sigprocmask,
    sys::SYS_sigaltstack,
    sys::SYS_restart_syscall,
    sys::SYS_futex,
    sys::SYS_exit,
    sys::SYS_exit_group,
];

/// Requests of KVM, as linux/kvm.h numbers them, and the one of pagemap.
const REQUESTS: &[u64] = &[
    0xae80,      // KVM_RUN
    0x8090_ae81, // KVM_GET_REGS
    0x4090_ae82, // KVM_SET_REGS
    0x8138_ae83, // KVM_GET_SREGS
    0x4138_ae84, // KVM_SET_SREGS
    0x9000_aea4, // KVM_GET_XSAVE
    0x5000_aea5, // KVM_SET_XSAVE
    0x8040_ae9f, // KVM_GET_VCPU_EVENTS
    0x4040_aea0, // KVM_SET_VCPU_EVENTS
    PAGEMAP_SCAN,
];

/// Confine this process, which has everything open that it will ever need.
///
/// # Errors
///
/// The step that failed, in words.
pub fn monitor() -> Result<(), String> {
    landlock::no_files().map_err(|error| format!("Landlock: {error}"))?;
    filter::take_on(&allowed()?)
}

fn allowed() -> Result<BpfProgram, String> {
    let mut rules = filter::freely(CALLS);
    let requests = REQUESTS.iter().map(|request| {
        let asked = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *request)?;
        SeccompRule::new(vec![asked])
    });
    let requests = requests.collect::<Result<_, _>>();
    rules.insert(sys::SYS_ioctl, requests.map_err(filter::in_words)?);
    filter::program(rules, SeccompAction::KillProcess)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_can_be_made_and_names_no_file() {
        assert!(allowed().is_ok());
        let named = [
            sys::SYS_openat,
            sys::SYS_execve,
            sys::SYS_kill,
            sys::SYS_socket,
            sys::SYS_clone,
        ];
        assert!(!CALLS.iter().any(|call| named.contains(call)));
    }
}
