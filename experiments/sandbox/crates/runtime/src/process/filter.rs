//! Filters of system calls, compiled once.

use std::collections::BTreeMap;

use libc as sys;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use serde_json::{Value, json};

use super::recipe::PROGRAM;

/// Namespaces that a process could make without any right by first making one of users.
const NAMESPACES: u64 =
    (sys::CLONE_NEWUSER | sys::CLONE_NEWNS | sys::CLONE_NEWNET | sys::CLONE_NEWIPC) as u64
        | (sys::CLONE_NEWUTS | sys::CLONE_NEWCGROUP) as u64;

/// A list of system calls by their numbers, and one by their names, which containers' tools take.
macro_rules! calls {
    ($($call:ident),* $(,)?) => {
        const BINARY: &[i64] = &[$(sys::$call),*];
        const NAMES: &[&str] = &[$(stringify!($call)),*];
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
    SYS_poll,
    SYS_ppoll,
    SYS_dup,
    SYS_dup2,
    SYS_dup3,
    SYS_recvfrom,
    SYS_sendto,
    SYS_shutdown,
    SYS_mmap,
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
    SYS_clock_nanosleep,
    SYS_clock_gettime,
    SYS_clock_getres,
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
    SYS_arch_prctl,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_pipe2,
    SYS_eventfd2,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_wait,
    SYS_epoll_pwait,
    SYS_fork,
    SYS_vfork,
    SYS_wait4,
    SYS_waitid,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
}

/// The allowed operations of `fcntl`: those on the caller's own descriptors. Locks, owners and
/// signals are not allowed, because others with the same file could see them.
const FCNTL: &[i32] = &[
    sys::F_DUPFD,
    sys::F_DUPFD_CLOEXEC,
    sys::F_GETFD,
    sys::F_SETFD,
    sys::F_GETFL,
    sys::F_SETFL,
];

/// The further calls of a binary that receives shared memory. It may make sockets only in pairs, so
/// it receives only from itself or the host.
const SHARING: &[i64] = &[sys::SYS_recvmsg];

fn beside(shared: bool) -> &'static [i64] {
    if shared { SHARING } else { &[] }
}

/// The further calls of the thread that starts workers, under the same filter: each is about the
/// caller itself, or needs rights that a binary does not have.
const KEEPER: &[i64] = &[
    sys::SYS_socketpair,
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

/// The filter that a thread takes on before it starts workers, which inherit it at no cost, and which
/// may be passed `shared` memory.
///
/// # Errors
///
/// The compiler's error.
pub fn inherited(shared: bool) -> Result<BpfProgram, String> {
    let mut rules = allowed(BINARY.iter().chain(KEEPER).chain(beside(shared)))?;
    // Namespaces of processes alone need a right that no binary has.
    let without = condition(0, SeccompCmpOp::MaskedEq(NAMESPACES), 0);
    rules.insert(sys::SYS_clone, vec![rule(vec![without])?]);
    // Only before exec is there a descriptor with this number.
    let program = condition(0, SeccompCmpOp::Eq, PROGRAM as u64);
    let by_descriptor = condition(4, SeccompCmpOp::Eq, sys::AT_EMPTY_PATH as u64);
    rules.insert(sys::SYS_execveat, vec![rule(vec![program, by_descriptor])?]);
    let own = condition(0, SeccompCmpOp::Eq, 0);
    rules.insert(sys::SYS_prlimit64, vec![rule(vec![own])?]);
    let options = [
        sys::PR_SET_PDEATHSIG,
        sys::PR_SET_NAME,
        sys::PR_GET_NAME,
        sys::PR_GET_DUMPABLE,
    ];
    let options = options.map(|option| rule(vec![condition(0, SeccompCmpOp::Eq, option as u64)]));
    rules.insert(
        sys::SYS_prctl,
        options.into_iter().collect::<Result<_, _>>()?,
    );
    compile(rules, sys::EPERM)
}

/// The filter that a container's tool loads before it executes a binary: that of [`inherited`], and
/// execve, with which there is nothing to execute.
///
/// # Errors
///
/// The compiler's error.
pub fn contained(shared: bool) -> Result<BpfProgram, String> {
    let own = BINARY.iter().chain(&[sys::SYS_execve]);
    let mut rules = allowed(own.chain(beside(shared)))?;
    let without = condition(0, SeccompCmpOp::MaskedEq(NAMESPACES), 0);
    rules.insert(sys::SYS_clone, vec![rule(vec![without])?]);
    compile(rules, sys::EPERM)
}

/// The filter of [`contained`] as the Open Container Initiative writes it, which lets `more` through.
pub fn described(shared: bool, more: &[&str]) -> Value {
    let call = |name: &&str| name.strip_prefix("SYS_").unwrap_or(name).to_owned();
    let sharing: &[&str] = if shared { &["recvmsg"] } else { &[] };
    let names = NAMES.iter().chain(&["SYS_execve"]).chain(sharing);
    let names = names.chain(more).map(call);
    let names: Vec<String> = names.collect();
    let without = json!({
        "index": 0, "value": NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ",
    });
    let mut calls = vec![
        json!({"names": names, "action": "SCMP_ACT_ALLOW"}),
        json!({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [without]}),
        json!({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": sys::ENOSYS}),
    ];
    calls.extend(FCNTL.iter().map(|command| {
        let asked = json!({"index": 1, "value": command, "valueTwo": 0, "op": "SCMP_CMP_EQ"});
        json!({"names": ["fcntl"], "action": "SCMP_ACT_ALLOW", "args": [asked]})
    }));
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "architectures": ["SCMP_ARCH_X86_64"],
        "syscalls": calls,
    })
}

/// Make the filter that the original loads into each worker: 115 system calls, compared one after
/// the other.
///
/// # Errors
///
/// The compiler's error.
pub fn per_worker() -> Result<BpfProgram, String> {
    let rules = allowed(BINARY.iter().chain(ORIGINAL_BESIDES))?;
    debug_assert_eq!(rules.len(), 115);
    compile(rules, sys::EPERM)
}

/// Harmless and not so harmless calls that bring the list to the original's length.
const ORIGINAL_BESIDES: &[i64] = &[
    sys::SYS_open,
    sys::SYS_openat,
    sys::SYS_stat,
    sys::SYS_lstat,
    sys::SYS_newfstatat,
    sys::SYS_statx,
    sys::SYS_access,
    sys::SYS_faccessat,
    sys::SYS_getcwd,
    sys::SYS_chdir,
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
    sys::SYS_ioctl,
    sys::SYS_pipe,
    sys::SYS_select,
    sys::SYS_pselect6,
    sys::SYS_sendmsg,
    sys::SYS_recvmsg,
    sys::SYS_getsockopt,
    sys::SYS_setsockopt,
    sys::SYS_getsockname,
    sys::SYS_getpeername,
    sys::SYS_socketpair,
    sys::SYS_clone,
    sys::SYS_execve,
    sys::SYS_execveat,
    sys::SYS_prctl,
    sys::SYS_prlimit64,
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
];

/// These calls whatever they are asked, and `fcntl` for what it may do.
fn allowed<'a>(
    calls: impl Iterator<Item = &'a i64>,
) -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let mut rules: BTreeMap<_, _> = calls.map(|call| (*call, Vec::new())).collect();
    let commands = FCNTL.iter().map(|command| {
        let asked = condition(1, SeccompCmpOp::Eq, *command as u64);
        rule(vec![asked])
    });
    rules.insert(sys::SYS_fcntl, commands.collect::<Result<_, _>>()?);
    Ok(rules)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value)
        .map_err(|error| error.to_string())
}

fn rule(conditions: Vec<Result<SeccompCondition, String>>) -> Result<SeccompRule, String> {
    let conditions = conditions.into_iter().collect::<Result<_, _>>()?;
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}

/// Everything else fails with `refusal`; clone3, whose flags no filter can see, is as if unknown, so
/// that libraries fall back on clone.
fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, refusal: i32) -> Result<BpfProgram, String> {
    let allow = |rules, mismatch| {
        SeccompFilter::new(
            rules,
            SeccompAction::Errno(mismatch),
            SeccompAction::Allow,
            TargetArch::x86_64,
        )
        .and_then(BpfProgram::try_from)
        .map_err(|error| format!("the filter of system calls: {error}"))
    };
    let mut program = allow(rules, refusal as u32)?;
    unknown(&mut program, sys::SYS_clone3);
    Ok(program)
}

/// Put before everything but the check of the architecture: `number` fails with ENOSYS.
fn unknown(program: &mut BpfProgram, number: i64) {
    let instruction =
        |code: u32, jump_if: u8, jump_else: u8, value: u32| seccompiler::sock_filter {
            code: code as u16,
            jt: jump_if,
            jf: jump_else,
            k: value,
        };
    let load = program
        .iter()
        .position(|each| {
            each.code == (sys::BPF_LD | sys::BPF_W | sys::BPF_ABS) as u16 && each.k == 0
        })
        .expect("a filter reads the number of the call");
    let refused = sys::SECCOMP_RET_ERRNO | sys::ENOSYS as u32;
    let test = [
        instruction(
            sys::BPF_JMP | sys::BPF_JEQ | sys::BPF_K,
            0,
            1,
            number as u32,
        ),
        instruction(sys::BPF_RET | sys::BPF_K, 0, 0, refused),
    ];
    program.splice(load + 1..load + 1, test);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_of_each_worker_is_as_long_as_the_original() {
        let rules = allowed(BINARY.iter().chain(ORIGINAL_BESIDES)).unwrap();
        assert_eq!(rules.len(), 115);
    }

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
        for shared in [false, true] {
            assert!(inherited(shared).is_ok());
        }
    }
}
