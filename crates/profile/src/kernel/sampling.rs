//! The sampling clock: the software event `cpu-clock` on each online CPU (perf_event_open(2)).

use std::ffi::c_long;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libbpf_rs::{Link, ProgramMut, libbpf_sys};

use crate::failure::Failure;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn ioctl(fd: i32, request: u64, ...) -> i32;
}

// _IO('$', 0) and _IO('$', 1).
const ENABLE: u64 = 0x2400;
const DISABLE: u64 = 0x2401;

/// One event per CPU, each of which runs the BPF program.
#[derive(Debug)]
pub struct Sampling {
    events: Vec<OwnedFd>,
    _links: Vec<Link>,
}

impl Sampling {
    /// Open the events, stopped, and attach the program to them.
    pub fn attach(program: &ProgramMut<'_>, cpus: &[u32], period_ns: u64) -> Result<Self, Failure> {
        let (mut events, mut links) = (Vec::new(), Vec::new());
        for &cpu in cpus {
            let event = open(cpu, period_ns).map_err(|error| {
                Failure::Unavailable(format!("the kernel refuses to sample CPU {cpu}: {error}"))
            })?;
            let failed = |error: &dyn std::fmt::Display| {
                Failure::Unavailable(format!(
                    "the kernel refuses a BPF program for samples: {error}"
                ))
            };
            let own = event.try_clone().map_err(|error| failed(&error))?;
            // The link closes the descriptor that it is given.
            let given = std::os::fd::IntoRawFd::into_raw_fd(event);
            links.push(
                program
                    .attach_perf_event(given)
                    .map_err(|error| failed(&error))?,
            );
            events.push(own);
        }
        let sampling = Self {
            events,
            _links: links,
        };
        sampling.stop();
        Ok(sampling)
    }

    /// Begin to sample.
    pub fn start(&self) {
        self.control(ENABLE);
    }

    /// Sample no more.
    pub fn stop(&self) {
        self.control(DISABLE);
    }

    fn control(&self, request: u64) {
        for event in &self.events {
            // SAFETY: the descriptor is open, and neither request takes an address.
            unsafe { ioctl(event.as_raw_fd(), request, 0) };
        }
    }
}

fn open(cpu: u32, period_ns: u64) -> io::Result<OwnedFd> {
    let mut attributes = libbpf_sys::perf_event_attr {
        type_: libbpf_sys::PERF_TYPE_SOFTWARE,
        size: size_of::<libbpf_sys::perf_event_attr>() as u32,
        config: libbpf_sys::PERF_COUNT_SW_CPU_CLOCK.into(),
        ..Default::default()
    };
    attributes.__bindgen_anon_1.sample_period = period_ns;
    attributes.set_disabled(1);
    // SAFETY: the attributes outlive the call; -1 is any process and no group.
    let fd = unsafe {
        let close_on_exec = 8u64;
        syscall(number(), &raw const attributes, -1, cpu, -1, close_on_exec)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for the caller.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn number() -> c_long {
    syscalls::Sysno::perf_event_open.id() as c_long
}

/// The CPUs that are online.
pub fn online() -> Result<Vec<u32>, Failure> {
    let path = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(path).map_err(|error| Failure::of(path, error))?;
    list(&text).ok_or_else(|| Failure::Other(format!("{path} is no list of CPUs: {text:?}")))
}

fn list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_cpus_are_read() {
        assert_eq!(list("0\n"), Some(vec![0]));
        assert_eq!(list("0-2,7,9-10\n"), Some(vec![0, 1, 2, 7, 9, 10]));
        assert_eq!(list(""), None);
        assert_eq!(list("0-x"), None);
    }
}
