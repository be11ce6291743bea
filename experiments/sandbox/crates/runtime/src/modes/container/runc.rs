//! runc.

use super::crun::{evidence, one_hierarchy};
use super::{Bundle, STATE, Tool, oci, text};
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

    fn overhead(self) -> Overhead {
        // Threads of Go.
        Overhead {
            memory_bytes: 48 << 20,
            processes: 32,
        }
    }

    fn evidence(self) -> Evidence {
        evidence()
    }

    fn settle(self) -> Result<(), String> {
        one_hierarchy()
    }

    fn arguments(self, bundle: &Bundle<'_>) -> Result<Vec<String>, String> {
        oci::write(bundle)?;
        let state = bundle.folder.join(STATE);
        let all = [
            "--root",
            &text(&state),
            "run",
            "--bundle",
            &text(&bundle.folder),
            "--preserve-fds",
            "1",
            &name(bundle.slot),
        ];
        Ok(all.map(str::to_owned).to_vec())
    }
}

/// Its container's name, and that of the control group that it makes.
fn name(slot: &Slot) -> String {
    format!("tare-sandbox.{}.runc.{}", std::process::id(), slot.number)
}
