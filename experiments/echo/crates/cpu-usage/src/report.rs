//! The probe's answer: CPU time so far, by owner.

use anyhow::Result;
use serde::Serialize;

use crate::owners::{Owner, Processes};

/// CPU time and context switches of one process or kind of kernel work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub ns: u64,
    pub switches: u64,
}

/// All CPU time so far: of processes by number, and of the kernel.
#[derive(Debug, Default)]
pub struct Reading {
    pub processes: Vec<(u32, Usage)>,
    pub kernel_threads: Usage,
    pub softirq: Usage,
    /// CPU time of the probe's own BPF programs; it is contained in the other figures.
    pub overhead_ns: u64,
}

/// A source of CPU times.
pub trait Source {
    /// Its name in the report.
    fn name(&self) -> &'static str;
    /// Read all CPU time so far.
    fn read(&mut self) -> Result<Reading>;
}

/// Nanoseconds and context switches so far.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    source: &'static str,
    server_ns: u64,
    client_ns: u64,
    backend_ns: u64,
    kernel_ns: u64,
    softirq_ns: u64,
    other_ns: u64,
    overhead_ns: u64,
    server_switches: u64,
    client_switches: u64,
    kernel_switches: u64,
}

impl Report {
    /// Read `source` and add its processes up by owner.
    pub fn make(source: &mut dyn Source, processes: &Processes) -> Result<Self> {
        let reading = source.read()?;
        let mut report = Self {
            source: source.name(),
            kernel_ns: reading.kernel_threads.ns,
            kernel_switches: reading.kernel_threads.switches,
            softirq_ns: reading.softirq.ns,
            overhead_ns: reading.overhead_ns,
            ..Self::default()
        };
        for (process, each) in reading.processes {
            match processes.owner_of(process) {
                Owner::Server => {
                    report.server_ns += each.ns;
                    report.server_switches += each.switches;
                }
                Owner::Client => {
                    report.client_ns += each.ns;
                    report.client_switches += each.switches;
                }
                Owner::Backend => report.backend_ns += each.ns,
                Owner::Other => report.other_ns += each.ns,
            }
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    struct Given(Option<Reading>);

    impl Source for Given {
        fn name(&self) -> &'static str {
            "given"
        }

        fn read(&mut self) -> Result<Reading> {
            Ok(self.0.take().expect("read once"))
        }
    }

    fn used(ns: u64, switches: u64) -> Usage {
        Usage { ns, switches }
    }

    #[test]
    fn the_process_behind_the_control_socket_is_the_server() {
        let path = std::env::temp_dir().join(format!("echo-cpu-usage-{}", std::process::id()));
        let listener = UnixListener::bind(&path).expect("a writable folder");
        let server = thread::spawn(move || drop(listener.accept().expect("a client")));
        let processes = Processes::find(&path, None).expect("it answers");
        server.join().expect("no panic");
        std::fs::remove_file(&path).expect("it is there");

        let reading = Reading {
            processes: vec![(std::process::id(), used(10, 1)), (u32::MAX, used(200, 2))],
            kernel_threads: used(3000, 3),
            softirq: used(40_000, 0),
            overhead_ns: 5,
        };
        let report = Report::make(&mut Given(Some(reading)), &processes).expect("a report");
        let found = serde_json::to_value(&report).expect("numbers");
        let wanted = serde_json::json!({
            "source": "given", "server_ns": 10, "client_ns": 0, "backend_ns": 0,
            "kernel_ns": 3000, "softirq_ns": 40_000, "other_ns": 200, "overhead_ns": 5,
            "server_switches": 1, "client_switches": 0, "kernel_switches": 3,
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn without_a_server_the_error_names_the_socket() {
        let error = Processes::find("/nowhere/sut".as_ref(), None).expect_err("nobody is there");
        assert!(format!("{error:#}").contains("/nowhere/sut"), "{error:#}");
    }
}
