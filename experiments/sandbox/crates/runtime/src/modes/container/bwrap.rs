//! bubblewrap, which makes namespaces as the slot's user, who has no right but in a namespace of
//! users of his own.

use super::{Bundle, Tool, text};
use crate::mode::Overhead;
use crate::process::recipe::Recipe;
use crate::process::verify::Evidence;

/// The tool.
#[derive(Clone, Copy)]
pub struct Bwrap;

impl Tool for Bwrap {
    const NAME: &'static str = "bwrap";
    const SUMMARY: &'static str =
        "bubblewrap: namespaces of its own with an empty root, no capability, a user of its own";
    const PROGRAM: &'static str = "bwrap";
    const REMEDY: &'static str = "install the Debian package bubblewrap";

    fn overhead(self) -> Overhead {
        // Itself, and the first process of its namespace.
        Overhead {
            memory_bytes: 4 << 20,
            processes: 2,
        }
    }

    fn evidence(self) -> Evidence {
        Evidence {
            filtered: false,
            no_capabilities: true,
            other_user: true,
            namespaces: &["mnt", "net", "ipc", "uts", "cgroup", "pid", "user"],
        }
    }

    fn arguments(self, bundle: &Bundle<'_>) -> Result<Vec<String>, String> {
        let root = text(&bundle.root);
        let all = [
            "--unshare-all",
            "--unshare-user",
            "--disable-userns",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
            "--clearenv",
            "--setenv",
            "PATH",
            "/",
            "--ro-bind",
            &root,
            "/",
            "--chdir",
            "/",
            "--",
            "udf",
            "3",
        ];
        Ok(all.map(str::to_owned).to_vec())
    }

    fn confine(self, recipe: &mut Recipe, bundle: &Bundle<'_>) {
        recipe.limit(bundle.limits).become_user(bundle.slot.user());
    }
}
