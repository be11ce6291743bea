//! Bundles of the Open Container Initiative: https://github.com/opencontainers/runtime-spec.

use std::fs;

use serde_json::{Value, json};

use super::{Bundle, text};
use crate::process::filter;

/// Writes the bundle's config.json: the slot's user, no capability, namespaces with nothing in
/// them, a read-only root, the filter of system calls and `more`, in the control group `group`.
///
/// # Errors
///
/// What could not be written, in words.
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
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": {"uid": user, "gid": user},
            "args": ["udf", "3"],
            "env": ["PATH=/"],
            "cwd": "/",
            "noNewPrivileges": true,
            "capabilities": {
                "bounding": none, "effective": none, "inheritable": none, "permitted": none, "ambient": none,
            },
            "rlimits": [
                limit("RLIMIT_CORE", 0),
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
                "destination": "/proc", "type": "proc", "source": "proc",
                "options": ["nosuid", "noexec", "nodev", "ro"],
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
            "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/sysrq-trigger", "/proc/timer_list"],
            "readonlyPaths": ["/proc/sys"],
            "seccomp": filter::described(more),
        },
    })
}
