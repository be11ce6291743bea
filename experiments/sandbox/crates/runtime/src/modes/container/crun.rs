//! crun.

use std::ffi::CStr;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::{Bundle, STATE, Tool, oci, text};
use crate::mode::Overhead;
use crate::process::verify::Evidence;

/// The tool.
#[derive(Clone, Copy)]
pub struct Crun;

/// Where control groups are mounted.
pub(super) const GROUPS: &str = "/sys/fs/cgroup";

impl Tool for Crun {
    const NAME: &'static str = "crun";
    const SUMMARY: &'static str =
        "crun: a container with an empty root, no capability, a user of its own";
    const PROGRAM: &'static str = "crun";
    const REMEDY: &'static str = "install the Debian package crun";

    fn overhead(self) -> Overhead {
        Overhead {
            memory_bytes: 8 << 20,
            processes: 4,
        }
    }

    fn evidence(self) -> Evidence {
        evidence()
    }

    fn settle(self) -> Result<(), String> {
        one_hierarchy()
    }

    fn arguments(self, bundle: &Bundle<'_>) -> Result<Vec<String>, String> {
        oci::write(bundle, &[], None)?;
        let state = bundle.folder.join(STATE);
        let all = [
            "--root",
            &text(&state),
            "--cgroup-manager",
            "disabled",
            "run",
            "--bundle",
            &text(&bundle.folder),
            "--preserve-fds",
            "1",
            "udf",
        ];
        Ok(all.map(str::to_owned).to_vec())
    }
}

/// What must be seen of a container's process.
pub(super) fn evidence() -> Evidence {
    Evidence {
        filtered: true,
        no_capabilities: true,
        other_user: true,
        namespaces: &["mnt", "net", "ipc", "uts", "pid"],
    }
}

/// Shows the keeper's thread version 2 of control groups alone: where both are mounted, the tools
/// refuse, or leave groups behind. The limits are the slot's.
pub(super) fn one_hierarchy() -> Result<(), String> {
    let none: Option<&CStr> = None;
    let _ = unmount(GROUPS, UnmountFlags::DETACH);
    mount("cgroup2", GROUPS, "cgroup2", MountFlags::empty(), none)
        .map_err(|error| format!("version 2 of control groups at {GROUPS}: {error}"))
}
