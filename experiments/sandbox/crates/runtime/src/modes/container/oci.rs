//! The part that runtimes of the Open Container Initiative share: the bundle
//! (https://github.com/opencontainers/runtime-spec), the command line, and the evidence of a
//! container.

use std::ffi::CStr;
use std::fs;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::{Value, json};

use super::tool::{Bundle, STATE, text};
use crate::process::filter;
use crate::process::verify::Evidence;
use crate::shared;

/// The mount point of control groups.
pub const GROUPS: &str = "/sys/fs/cgroup";

/// Return a runtime's arguments that run the bundle. `first` come before the order, and `passing` pass
/// the line on.
pub fn run(bundle: &Bundle<'_>, first: &[&str], passing: &[&str]) -> Vec<String> {
    let (state, folder) = (text(&bundle.folder.join(STATE)), text(&bundle.folder));
    [
        &["--root", &state],
        first,
        &["run", "--bundle", &folder],
        passing,
        &["udf"],
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect()
}

/// The evidence that must be seen of a container's process on the host's kernel.
pub fn evidence() -> Evidence {
    Evidence {
        filtered: true,
        no_capabilities: true,
        other_user: true,
        namespaces: &["mnt", "net", "ipc", "uts", "pid"],
    }
}

/// Show the keeper's thread version 2 of control groups alone: where both are mounted, the tools
/// refuse, or leave groups behind. The limits are the slot's.
///
/// # Errors
///
/// The reason, in words.
pub fn one_hierarchy() -> Result<(), String> {
    let none: Option<&CStr> = None;
    let _ = unmount(GROUPS, UnmountFlags::DETACH);
    mount("cgroup2", GROUPS, "cgroup2", MountFlags::empty(), none)
        .map_err(|error| format!("version 2 of control groups at {GROUPS}: {error}"))
}

/// Write the bundle's config.json: the slot's user, no capability, namespaces with nothing in
/// them, a read-only root, the filter of system calls and `more`, in the control group `group`.
///
/// # Errors
///
/// The step that failed, in words.
pub fn write(bundle: &Bundle<'_>, more: &[&str], group: Option<&str>) -> Result<(), String> {
    let file = bundle.folder.join("config.json");
    fs::write(&file, config(bundle, more, group).to_string())
        .map_err(|error| format!("{}: {error}", file.display()))
}

fn config(bundle: &Bundle<'_>, more: &[&str], group: Option<&str>) -> Value {
    let (user, limits) = (bundle.slot.user(), bundle.limits);
    let limit = |name: &str, most: u64| json!({"type": name, "soft": most, "hard": most});
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|kind| json!({"type": kind}));
    let none: [&str; 0] = [];
    let environment = [&["PATH=/"][..], shared::offer(limits)].concat();
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": {"uid": user, "gid": user},
            "args": ["udf", "3"],
            "env": environment,
            "cwd": "/",
            "noNewPrivileges": true,
            "capabilities": {
                "bounding": none, "effective": none, "inheritable": none, "permitted": none, "ambient": none,
            },
            "rlimits": [
                limit("RLIMIT_CORE", crate::cores::NONE),
                // First the signal that tells of the limit: gVisor counts otherwise than the host, so
                // that a kill cannot be told from others by the time that was used.
                {"type": "RLIMIT_CPU", "soft": limits.cpu_s, "hard": u64::from(limits.cpu_s) + 1},
                limit("RLIMIT_MEMLOCK", 0),
                limit("RLIMIT_MSGQUEUE", 0),
                limit("RLIMIT_NOFILE", limits.files.into()),
                limit("RLIMIT_NPROC", limits.processes.into()),
            ],
        },
        "root": {"path": text(&bundle.root), "readonly": true},
        "hostname": "udf",
        "mounts": [
            {
                // Of the kernel's files only those of processes, of which there is one.
                "destination": "/proc", "type": "proc", "source": "proc",
                "options": ["nosuid", "noexec", "nodev", "ro", "subset=pid"],
            },
            // Where the tools make /dev/null and its like, which they reopen the standard streams with.
            {
                "destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                "options": ["nosuid", "noexec", "mode=755", "size=64k"],
            },
        ],
        "linux": {
            "cgroupsPath": group,
            "namespaces": namespaces,
            "seccomp": filter::described(limits.shared, more),
        },
    })
}
