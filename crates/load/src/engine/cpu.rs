//! CPU affinity of threads, and their CPU time.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPU time, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTime {
    /// In the program.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl CpuTime {
    /// The CPU time of the process so far.
    pub fn of_process() -> Self {
        Self::of(UsageWho::RUSAGE_SELF)
    }

    /// The CPU time of the calling thread so far.
    pub fn of_thread() -> Self {
        Self::of(UsageWho::RUSAGE_THREAD)
    }

    /// The CPU time used since `earlier`.
    pub fn since(self, earlier: CpuTime) -> Self {
        CpuTime {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
        }
    }

    /// User and system time together, in seconds.
    pub fn sum_s(self) -> f64 {
        self.user_s + self.system_s
    }

    fn of(who: UsageWho) -> Self {
        let usage = getrusage(who).expect("getrusage has no reason to fail");
        CpuTime {
            user_s: usage.user_time().num_microseconds() as f64 / 1e6,
            system_s: usage.system_time().num_microseconds() as f64 / 1e6,
        }
    }
}

/// Return true if this process may run on `cpu`.
pub fn is_allowed(cpu: usize) -> bool {
    let allowed = sched_getaffinity(None);
    cpu < CpuSet::MAX_CPU && allowed.is_ok_and(|allowed| allowed.is_set(cpu))
}

/// Bind the calling thread to `cpus`.
///
/// # Errors
/// When it may run on none of them.
pub fn pin(cpus: &[usize]) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    Ok(sched_setaffinity(None, &set)?)
}
