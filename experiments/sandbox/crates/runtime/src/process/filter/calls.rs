//! The system calls that filters let through whatever their arguments are.

use libc as sys;

/// A list of system calls by their numbers, and one by their names, which containers' tools take.
macro_rules! calls {
    ($($(#[$only:meta])* $call:ident),* $(,)?) => {
        pub const BINARY: &[i64] = &[$($(#[$only])* sys::$call),*];
        pub const NAMES: &[&str] = &[$($(#[$only])* stringify!($call)),*];
    };
}

// What a binary may ask of the kernel: memory, time, processes, its socket, and its own end.
// Nothing that names a file, a socket's address, another process, or shared memory.
calls! {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_close,
    SYS_fstat,
    SYS_lseek,
    #[cfg(target_arch = "x86_64")]
    SYS_poll,
    SYS_ppoll,
    SYS_dup,
    #[cfg(target_arch = "x86_64")]
    SYS_dup2,
    SYS_dup3,
    SYS_shutdown,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_tgkill,
    SYS_futex,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_times,
    SYS_getrusage,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getrandom,
    #[cfg(target_arch = "x86_64")]
    SYS_arch_prctl,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_pipe2,
    SYS_eventfd2,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    #[cfg(target_arch = "x86_64")]
    SYS_epoll_wait,
    SYS_epoll_pwait,
    #[cfg(target_arch = "x86_64")]
    SYS_fork,
    #[cfg(target_arch = "x86_64")]
    SYS_vfork,
    SYS_wait4,
    SYS_waitid,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
}

/// The further calls of a binary that receives shared memory. It may make sockets only in pairs, so
/// it receives only from itself or the host.
pub const SHARING: &[i64] = &[sys::SYS_recvmsg];

/// The further calls of the thread that starts workers, under the same filter: each is about the
/// caller itself, or needs rights that a binary does not have.
pub const KEEPER: &[i64] = &[
    sys::SYS_close_range,
    sys::SYS_setsid,
    sys::SYS_setgroups,
    sys::SYS_setresgid,
    sys::SYS_setresuid,
    sys::SYS_pidfd_send_signal,
    sys::SYS_pread64,
    sys::SYS_pwrite64,
    sys::SYS_epoll_pwait2,
];

/// Harmless and not so harmless calls that bring the list to the original's length. Two of the
/// original's are not among them: `sendmsg` passes descriptors, and `setsockopt` gives a socket a name.
pub const ORIGINAL_BESIDES: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    sys::SYS_open,
    sys::SYS_openat,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_lstat,
    sys::SYS_newfstatat,
    sys::SYS_statx,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_access,
    sys::SYS_faccessat,
    sys::SYS_getcwd,
    sys::SYS_chdir,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_readlink,
    sys::SYS_readlinkat,
    sys::SYS_getdents64,
    sys::SYS_statfs,
    sys::SYS_fstatfs,
    sys::SYS_pread64,
    sys::SYS_pwrite64,
    sys::SYS_preadv,
    sys::SYS_pwritev,
    sys::SYS_ftruncate,
    sys::SYS_fsync,
    sys::SYS_fdatasync,
    sys::SYS_fallocate,
    sys::SYS_fadvise64,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_pipe,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_select,
    sys::SYS_pselect6,
    sys::SYS_recvmsg,
    sys::SYS_getsockopt,
    sys::SYS_getsockname,
    sys::SYS_getpeername,
    sys::SYS_execve,
    sys::SYS_execveat,
    sys::SYS_getrlimit,
    sys::SYS_sched_setaffinity,
    sys::SYS_sched_getparam,
    sys::SYS_sched_getscheduler,
    sys::SYS_getpriority,
    sys::SYS_sysinfo,
    sys::SYS_uname,
    sys::SYS_umask,
    sys::SYS_mincore,
    sys::SYS_msync,
    sys::SYS_membarrier,
    sys::SYS_kill,
    sys::SYS_getcpu,
    sys::SYS_getresuid,
    sys::SYS_getresgid,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_names_a_file_or_a_process_is_inherited() {
        let named = [
            sys::SYS_openat,
            sys::SYS_execve,
            sys::SYS_kill,
            sys::SYS_ptrace,
            sys::SYS_socket,
            sys::SYS_bpf,
        ];
        assert!(!BINARY.iter().chain(KEEPER).any(|call| named.contains(call)));
        assert!(!SHARING.iter().any(|call| named.contains(call)));
    }
}
