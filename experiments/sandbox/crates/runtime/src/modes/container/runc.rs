//! runc.

use std::fs;

use super::oci;
use super::tool::{Bundle, Tool};
use crate::mode::Overhead;
use crate::process::verify::Evidence;
use crate::slot::Slot;

/// The tool.
#[derive(Clone, Copy)]
pub struct Runc;

impl Tool for Runc {
    const NAME: &'static str = "runc";
    const SUMMARY: &'static str =
        "runc: a container with an empty root, no capability, a user of its own";
    const PROGRAM: &'static str = "runc";
    const REMEDY: &'static str = "install the Debian package runc";
    /// It copies them, and is ended with the binary, before it has copied all.
    const LOGS: bool = false;

    fn overhead(self) -> Overhead {
        // Threads of Go.
        Overhead {
            memory_bytes: 48 << 20,
            processes: 32,
        }
    }

    fn evidence(self) -> Evidence {
        oci::evidence()
    }

    fn settle(self) -> Result<(), String> {
        oci::one_hierarchy()
    }

    fn arguments(self, bundle: &Bundle<'_>) -> Result<Vec<String>, String> {
        oci::write(bundle, OWN_CALLS, Some(&group(bundle.slot)))?;
        Ok(oci::run(bundle, &[], &["--preserve-fds", "1"]))
    }

    fn clear(self, slot: &Slot) {
        let _ = fs::remove_dir(format!("{}{}", oci::GROUPS, group(slot)));
    }
}

/// It opens and lists files of its own after it has loaded the filter.
const OWN_CALLS: &[&str] = &["openat", "fstatfs", "getdents64"];

const PREFIX: &str = "tare-sandbox-runc.";

/// The control group that it makes in version 2: below the slot's.
fn group(slot: &Slot) -> String {
    let below = slot.group.path();
    let (pid, number) = (std::process::id(), slot.number);
    format!("{below}/{PREFIX}{pid}.{number}")
}
