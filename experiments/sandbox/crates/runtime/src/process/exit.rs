//! The ends of processes.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;

use crate::failure::Failure;

/// Return how a worker ended that was being called, from what [`look`] tells of it; its CPU time is limited to
/// `most`.
pub(crate) fn in_words((code, status, cpu): (i32, i32, Duration), most: Duration) -> Failure {
    match (code, status) {
        (libc::CLD_EXITED, code) => Failure::Died(format!("exit code {code}")),
        // The kernel counts the limit in ticks, and finer for this; nobody else kills a worker
        // that is being called.
        (_, libc::SIGKILL) if cpu >= most / 2 => Failure::CpuTime,
        (_, libc::SIGXCPU) => Failure::CpuTime,
        (_, signal) => Failure::Died(format!("signal {signal}")),
    }
}

/// Wait until a process has ended and take it off the kernel's list. Return its CPU time in µs.
pub(crate) fn collect(process: &OwnedFd) -> u64 {
    look(process, 0).map_or(0, |(_, _, cpu)| cpu.as_micros() as u64)
}

/// Return how an ended process ended (`si_code`, `si_status`) and its CPU time.
pub(crate) fn look(process: &OwnedFd, options: i32) -> Option<(i32, i32, Duration)> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both are of the kernel's layout, and large enough.
        let result = unsafe {
            libc::syscall(
                libc::SYS_waitid,
                libc::P_PIDFD,
                process.as_raw_fd(),
                info.as_mut_ptr(),
                libc::WEXITED | options,
                usage.as_mut_ptr(),
            )
        };
        if result == 0 {
            break;
        }
        if Errno::from_io_error(&std::io::Error::last_os_error()) != Some(Errno::INTR) {
            return None;
        }
    }
    // SAFETY: zero is valid for both, and the kernel filled them in.
    let (info, usage) = unsafe { (info.assume_init(), usage.assume_init()) };
    let time = |part: libc::timeval| {
        Duration::new(part.tv_sec as u64, 0) + Duration::from_micros(part.tv_usec as u64)
    };
    // SAFETY: waitid says how a child ended in these fields.
    let status = unsafe { info.si_status() };
    Some((
        info.si_code,
        status,
        time(usage.ru_utime) + time(usage.ru_stime),
    ))
}
