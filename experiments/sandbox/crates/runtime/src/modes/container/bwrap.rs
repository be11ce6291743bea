//! bubblewrap, which makes namespaces as the slot's user, who has no right but in a namespace of
//! users of his own.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use seccompiler::BpfProgram;

use super::tool::{Bundle, Tool, text};
use crate::descriptors::moved_up;
use crate::mode::Overhead;
use crate::process::filter;
use crate::process::recipe::Recipe;
use crate::process::verify::Evidence;
use crate::shared;

/// Number of the descriptor that it reads the filter from.
const FILTER: usize = 4;

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
        // Itself.
        Overhead {
            memory_bytes: 4 << 20,
            processes: 1,
        }
    }

    fn evidence(self) -> Evidence {
        Evidence {
            filtered: true,
            no_capabilities: true,
            other_user: true,
            namespaces: &["mnt", "net", "ipc", "uts", "cgroup", "pid", "user"],
        }
    }

    fn arguments(self, bundle: &Bundle<'_>) -> Result<Vec<String>, String> {
        let root = text(&bundle.root);
        let filter = FILTER.to_string();
        let offered = shared::offer(bundle.limits).iter();
        let offered = offered.filter_map(|variable| variable.split_once('='));
        let offered: Vec<&str> = offered
            .flat_map(|(name, value)| ["--setenv", name, value])
            .collect();
        let before = [
            "--unshare-all",
            "--unshare-user",
            "--disable-userns",
            "--as-pid-1",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
            "--seccomp",
            &filter,
            "--clearenv",
            "--setenv",
            "PATH",
            "/",
        ];
        let behind = ["--ro-bind", &root, "/", "--chdir", "/", "--", "udf", "3"];
        let all = [&before[..], &offered[..], &behind[..]].concat();
        Ok(all.into_iter().map(str::to_owned).collect())
    }

    fn confine(self, recipe: &mut Recipe, bundle: &Bundle<'_>) -> Result<(), String> {
        let program = memory_with(&filter::contained(bundle.limits.shared)?)
            .map_err(|error| format!("the filter of system calls: {error}"))?;
        let program = recipe.keep(program) as usize;
        recipe.call(
            "rewind the filter",
            libc::SYS_lseek,
            &[program, 0, libc::SEEK_SET as usize],
        );
        recipe.call("pass the filter on", libc::SYS_dup3, &[program, FILTER, 0]);
        recipe.limit(bundle.limits).become_user(bundle.slot.user());
        Ok(())
    }
}

/// A file with a filter, as bubblewrap reads it.
fn memory_with(filter: &BpfProgram) -> std::io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("filter", MemfdFlags::CLOEXEC)?);
    for each in filter {
        file.write_all(&each.code.to_ne_bytes())?;
        file.write_all(&[each.jt, each.jf])?;
        file.write_all(&each.k.to_ne_bytes())?;
    }
    Ok(moved_up(file.into())?)
}
