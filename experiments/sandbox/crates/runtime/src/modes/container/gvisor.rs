//! gVisor: a kernel in user space between the binary and the host, a sandbox of its own for each call.

use std::fs;

use super::oci;
use super::tool::{Bundle, Tool};
use crate::children::children;
use crate::mode::Overhead;
use crate::process::verify::Evidence;

/// The tool.
#[derive(Clone, Copy)]
pub struct Gvisor;

/// The tool's options for every sandbox.
pub const OPTIONS: &[&str] = &[
    "--platform",
    "systrap",
    "--network",
    "none",
    "--ignore-cgroups",
    "--oci-seccomp",
    "--overlay2",
    "none",
    "--directfs=false",
];

impl Tool for Gvisor {
    const NAME: &'static str = "gvisor";
    const SUMMARY: &'static str =
        "gVisor: a kernel in user space, in a sandbox of its own for each call";
    const PROGRAM: &'static str = "runsc";
    const REMEDY: &'static str =
        "put the one that `./tare setup sandbox` builds (components/runsc) there";

    fn overhead(self) -> Overhead {
        // The kernel, its threads, and the processes that stand for the binary's.
        Overhead {
            memory_bytes: 64 << 20,
            processes: 256,
        }
    }

    fn evidence(self) -> Evidence {
        Evidence {
            filtered: true,
            no_capabilities: true,
            other_user: true,
            namespaces: &["mnt", "net", "ipc", "uts", "pid", "user"],
        }
    }

    /// The kernel in user space: beside it there is one that opens files for it.
    fn examined(self, tool: i32) -> i32 {
        let kernel = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline"));
            line.is_ok_and(|line| line.starts_with(b"runsc-sandbox\0"))
        };
        children(tool).into_iter().find(kernel).unwrap_or(tool)
    }

    fn arguments(self, bundle: &Bundle<'_>) -> Result<Vec<String>, String> {
        oci::write(bundle, &[], None)?;
        Ok(oci::run(bundle, OPTIONS, &["--pass-fd", "3:3"]))
    }
}
