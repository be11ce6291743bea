//! The process's own usage: CPU time, memory, context switches.

use std::fs;

/// Usage so far, of all threads.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    pub rss_bytes: u64,
    pub switches_voluntary: u64,
    pub switches_involuntary: u64,
}

/// Read it (getrusage(2), and proc(5) for the memory).
pub fn usage() -> Usage {
    // SAFETY: zero is a valid rusage, and the pointer is to one that outlives the call.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut used);
        used
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let pages = fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok())
        .unwrap_or(0);
    Usage {
        cpu_user_s: seconds(used.ru_utime),
        cpu_system_s: seconds(used.ru_stime),
        rss_bytes: pages * rustix::param::page_size() as u64,
        switches_voluntary: used.ru_nvcsw as u64,
        switches_involuntary: used.ru_nivcsw as u64,
    }
}
