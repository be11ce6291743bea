//! The process that compiles one module: a hostile module gets to the compiler first. It is a user of
//! its own, has nothing open but the module and its output, and hardly any system call.

use std::fs::File;
use std::io::{Write, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use libc as sys;
use rustix::process::{Resource, Rlimit, Signal, nice, set_parent_process_death_signal, setrlimit};
use seccompiler::{BpfProgram, SeccompAction};

use super::engine;
use crate::modes::user;
use crate::process::filter;

/// The most bytes of a compiled module.
pub const OUTPUT_MAX: u64 = 256 << 20;

const NICE: i32 = 10;

/// The system calls of a compiler: none names a file, a process or a socket, or makes a process.
const CALLS: &[i64] = &[
    sys::SYS_read,
    sys::SYS_write,
    sys::SYS_close,
    sys::SYS_fstat,
    sys::SYS_pread64,
    sys::SYS_mmap,
    sys::SYS_munmap,
    sys::SYS_mprotect,
    sys::SYS_mremap,
    sys::SYS_madvise,
    sys::SYS_brk,
    sys::SYS_getrandom,
    sys::SYS_clock_gettime,
    sys::SYS_futex,
    sys::SYS_sched_getaffinity,
    sys::SYS_sigaltstack,
    sys::SYS_rt_sigaction,
    sys::SYS_rt_sigprocmask,
    sys::SYS_rt_sigreturn,
    sys::SYS_exit,
    sys::SYS_exit_group,
];

/// A compiler's life: compile the module on standard input to standard output within the limits that
/// its arguments name. Does not return.
pub fn main() -> ! {
    let code = match compile(std::env::args().skip(1)) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("{why}");
            1
        }
    };
    std::process::exit(code)
}

/// The arguments: seconds of CPU time, bytes of memory, and a user to become if not the same.
fn compile(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let numbers: Vec<u64> = arguments.filter_map(|each| each.parse().ok()).collect();
    let [cpu_s, memory, other @ ..] = &numbers[..] else {
        return Err("expected seconds, bytes and perhaps a user; tare-sandbox starts this".into());
    };
    let words = |error: std::io::Error| format!("the module: {error}");
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = File::from(input.map_err(words)?);
    let length = input.metadata().map_err(words)?.len();
    confine(*cpu_s, *memory, other.first().map(|user| *user as u32))?;
    let mut module = vec![0; length as usize];
    input.read_exact_at(&mut module, 0).map_err(words)?;
    let compiled = engine::compiling().and_then(|engine| engine.precompile_module(&module));
    let compiled = compiled.map_err(|error| format!("{error:#}"))?;
    stdout().write_all(&compiled).map_err(words)?;
    stdout().flush().map_err(words)
}

fn confine(cpu_s: u64, memory: u64, user: Option<u32>) -> Result<(), String> {
    let words = |error: rustix::io::Errno| format!("limit the compiler: {error}");
    let limits = [
        // A second later it would be killed without a name.
        (Resource::Cpu, cpu_s, cpu_s.saturating_add(1)),
        (Resource::As, memory, memory),
        (Resource::Fsize, OUTPUT_MAX, OUTPUT_MAX),
    ];
    for (resource, current, maximum) in limits {
        let limit = Rlimit {
            current: Some(current),
            maximum: Some(maximum),
        };
        setrlimit(resource, limit).map_err(words)?;
    }
    // Calls go before.
    nice(NICE).map_err(words)?;
    user.map_or(Ok(()), user::act_as)?;
    // After the change of user, which resets it.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(words)?;
    filter::take_on(&allowed()?)
}

fn allowed() -> Result<BpfProgram, String> {
    // Refused, not killed: a compiler that lacks memory can still say so.
    filter::program(
        filter::freely(CALLS),
        SeccompAction::Errno(sys::EPERM as u32),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_can_be_made_and_makes_no_process() {
        assert!(allowed().is_ok());
        let more = [
            sys::SYS_clone,
            #[cfg(target_arch = "x86_64")]
            sys::SYS_fork,
            sys::SYS_openat,
            sys::SYS_execve,
        ];
        assert!(!CALLS.iter().any(|call| more.contains(call)));
    }
}
