//! crun.

use super::oci;
use super::tool::{Bundle, STATE, Tool, text};
use crate::mode::Overhead;
use crate::process::recipe::Recipe;
use crate::process::verify::Evidence;

/// The tool.
#[derive(Clone, Copy)]
pub struct Crun;

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
        oci::evidence()
    }

    fn settle(self) -> Result<(), String> {
        oci::one_hierarchy()
    }

    fn arguments(self, bundle: &Bundle<'_>) -> Result<Vec<String>, String> {
        oci::write(bundle, &[], None)?;
        let first = ["--cgroup-manager", "disabled"];
        Ok(oci::run(bundle, &first, &["--preserve-fds", "1"]))
    }

    /// Before it starts again from a sealed copy of itself, it makes a file in /tmp, which stays when
    /// it is ended just then: it gets a /tmp that is cleared after each worker.
    fn confine(self, recipe: &mut Recipe, bundle: &Bundle<'_>) -> Result<(), String> {
        let state = recipe.text(&text(&bundle.folder.join(STATE)));
        let (place, none) = (recipe.text("/tmp"), recipe.text(""));
        recipe.call(
            "a /tmp of its own",
            libc::SYS_mount,
            &[state, place, none, libc::MS_BIND as usize, 0],
        );
        Ok(())
    }
}
