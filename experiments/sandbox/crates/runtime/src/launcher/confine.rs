//! Takes a broker its rights: it becomes another user without any capability, and a filter refuses it
//! every system call that names a file, an address, a process or a program.

use std::io::Error;

use libc as sys;

use crate::modes::{drop_bounding_set, user};
use crate::process::filter;

/// The system calls of a broker, whatever their arguments are. All others fail with EPERM.
const CALLS: &[i64] = &[
    // Its sockets, the workers' and the clients', and files that are open.
    sys::SYS_read,
    sys::SYS_write,
    sys::SYS_readv,
    sys::SYS_writev,
    sys::SYS_pread64,
    sys::SYS_pwrite64,
    sys::SYS_recvfrom,
    sys::SYS_recvmsg,
    sys::SYS_sendmsg,
    sys::SYS_accept4,
    sys::SYS_shutdown,
    sys::SYS_getsockopt,
    sys::SYS_close,
    sys::SYS_lseek,
    sys::SYS_fstat,
    sys::SYS_ftruncate,
    sys::SYS_flock,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_poll,
    sys::SYS_ppoll,
    sys::SYS_epoll_create1,
    sys::SYS_epoll_ctl,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_epoll_wait,
    sys::SYS_epoll_pwait,
    sys::SYS_epoll_pwait2,
    sys::SYS_eventfd2,
    // Its memory, threads and clocks.
    sys::SYS_munmap,
    sys::SYS_mprotect,
    sys::SYS_mremap,
    sys::SYS_madvise,
    sys::SYS_brk,
    sys::SYS_futex,
    sys::SYS_rseq,
    sys::SYS_set_robust_list,
    sys::SYS_sigaltstack,
    sys::SYS_rt_sigaction,
    sys::SYS_rt_sigprocmask,
    sys::SYS_rt_sigreturn,
    sys::SYS_restart_syscall,
    sys::SYS_gettid,
    sys::SYS_getpid,
    sys::SYS_getppid,
    sys::SYS_geteuid,
    sys::SYS_sched_yield,
    sys::SYS_sched_getaffinity,
    sys::SYS_getrandom,
    sys::SYS_clock_gettime,
    sys::SYS_clock_nanosleep,
    sys::SYS_nanosleep,
    sys::SYS_exit,
    sys::SYS_exit_group,
];

/// Confine this process, of one thread, which has all files open that it will ever name: it becomes
/// `user`, and dies with its parent.
///
/// # Errors
///
/// The step that failed, in words.
pub fn broker(user: u32) -> Result<(), String> {
    drop_bounding_set()?;
    user::act_as(user)?;
    // SAFETY: numbers only. A new user takes an earlier request back.
    if unsafe { sys::prctl(sys::PR_SET_PDEATHSIG, sys::SIGKILL) } != 0 {
        let error = Error::last_os_error();
        return Err(format!("die with the launcher: {error}"));
    }
    filter::take_on(&filter::broker(CALLS)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_can_be_made_and_names_nothing() {
        assert!(filter::broker(CALLS).is_ok());
        let named = [
            #[cfg(target_arch = "x86_64")]
            sys::SYS_open,
            sys::SYS_openat,
            sys::SYS_openat2,
            #[cfg(target_arch = "x86_64")]
            sys::SYS_unlink,
            #[cfg(target_arch = "x86_64")]
            sys::SYS_rename,
            sys::SYS_execve,
            sys::SYS_execveat,
            sys::SYS_kill,
            sys::SYS_tgkill,
            sys::SYS_ptrace,
            sys::SYS_process_vm_readv,
            sys::SYS_pidfd_open,
            sys::SYS_socket,
            sys::SYS_connect,
            sys::SYS_bind,
            #[cfg(target_arch = "x86_64")]
            sys::SYS_fork,
            #[cfg(target_arch = "x86_64")]
            sys::SYS_vfork,
            sys::SYS_clone3,
            sys::SYS_io_uring_setup,
        ];
        assert!(!CALLS.iter().any(|call| named.contains(call)));
    }
}
