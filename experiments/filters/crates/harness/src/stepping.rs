//! Instructions of a call, counted one by one by stepping through it (ptrace(2)).

use std::arch::asm;
use std::ffi::c_int;

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::case::Case;
use crate::library::Filter;

/// A call is stepped through so often, to see whether it is the same each time.
pub const REPEATS: usize = 3;
/// More steps than any filter takes: a call that does not return is given up.
const MOST: u64 = 50_000_000;

/// In the traced process: lets its parent step through each case's calls, and says of each case how
/// often it was accepted.
pub fn be_stepped(filter: Filter, cases: &[Case]) -> Result<Vec<u64>> {
    ptrace::traceme().context("this process may not be traced")?;
    raise(Signal::SIGSTOP)?;
    let accepted = cases.iter().map(|case| {
        let answers = (0..REPEATS).map(|_| {
            // SAFETY: a path as long as it says; the library is initialised.
            u64::from(unsafe { marked(filter, case.path.as_ptr(), case.path.len()) } == 1)
        });
        answers.sum()
    });
    Ok(accepted.collect())
}

/// The call between two breakpoints.
///
/// # Safety
/// As for the filter itself.
#[inline(never)]
unsafe fn marked(filter: Filter, path: *const u8, length: usize) -> c_int {
    let answer: u64;
    // SAFETY: a call by the C convention; the stack is aligned for it where an asm block begins.
    unsafe {
        asm!(
            "int3",
            "call {filter}",
            "int3",
            filter = in(reg) filter,
            in("rdi") path,
            in("rsi") length,
            lateout("rax") answer,
            clobber_abi("C"),
        );
    }
    answer as c_int
}

/// In the parent: the instructions of each of `calls` calls, its `call` and its `ret` included; and
/// lets the process go on.
pub fn step(child: Pid, calls: usize) -> Result<Vec<u64>> {
    expect(child, Signal::SIGSTOP)?;
    let others = hold_others(child)?;
    let mut counts = Vec::with_capacity(calls);
    for _ in 0..calls {
        ptrace::cont(child, None)?;
        expect(child, Signal::SIGTRAP)?;
        counts.push(through(child)?);
        ptrace::cont(child, None)?;
        expect(child, Signal::SIGTRAP)?;
    }
    // The child comes last: once it goes on it may exit, and its threads would be gone.
    for thread in others.into_iter().chain([child]) {
        ptrace::detach(thread, None)?;
    }
    Ok(counts)
}

/// Stop the process's other threads, such as one that ends guests which run too long: to step
/// through a call takes a thousand times its own time. Those that were stopped.
fn hold_others(child: Pid) -> Result<Vec<Pid>> {
    let mut held = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{child}/task"))? {
        let name = entry?.file_name();
        let thread = Pid::from_raw(name.to_string_lossy().parse()?);
        if thread == child {
            continue;
        }
        if hold(thread)? {
            held.push(thread);
        }
    }
    Ok(held)
}

/// Return true if the thread was stopped: one that has ended since it was listed needs not be.
fn hold(thread: Pid) -> Result<bool> {
    let held = ptrace::seize(thread, ptrace::Options::empty())
        .and_then(|()| ptrace::interrupt(thread))
        .and_then(|()| waitpid(thread, Some(WaitPidFlag::__WALL)));
    match held {
        Ok(status) => Ok(!matches!(
            status,
            WaitStatus::Exited(..) | WaitStatus::Signaled(..)
        )),
        Err(Errno::ESRCH) => Ok(false),
        Err(error) => Err(error).context(format!("thread {thread} cannot be stopped")),
    }
}

/// Step from before the call to behind it.
fn through(child: Pid) -> Result<u64> {
    advance(child)?;
    // The call is made: what it will return to is on top of the stack.
    let entered = ptrace::getregs(child)?;
    let back = ptrace::read(child, entered.rsp as ptrace::AddressType)? as u64;
    let (mut at, mut count) = (entered.rip, 1);
    while at != back {
        advance(child)?;
        let next = ptrace::getregs(child)?.rip;
        // A repeated string instruction stops at each repetition, and is one instruction.
        count += u64::from(next != at);
        at = next;
        if count > MOST {
            bail!("a call took more than {MOST} instructions");
        }
    }
    Ok(count)
}

fn advance(child: Pid) -> Result<()> {
    ptrace::step(child, None)?;
    expect(child, Signal::SIGTRAP)
}

fn expect(child: Pid, wanted: Signal) -> Result<()> {
    match waitpid(child, None)? {
        WaitStatus::Stopped(_, signal) if signal == wanted => Ok(()),
        other => bail!("the stepped process is {other:?}, expected {wanted}"),
    }
}
