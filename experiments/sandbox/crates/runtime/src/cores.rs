//! Keeps processes from leaving cores. On many hosts /proc/sys/kernel/core_pattern names a program, which
//! the kernel starts with root's rights for each process that crashes, outside of all limits, and gives
//! the process's memory. A limit of 0 bytes does not prevent that, and one of 1 byte does: core(5).

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bytes of a core, of which none is made then.
pub const NONE: u64 = 1;

/// Let this process, and those that it starts from now on, leave no cores.
///
/// # Errors
///
/// The reason, in words.
pub fn leave_none() -> Result<(), String> {
    let none = Rlimit {
        current: Some(NONE),
        maximum: Some(NONE),
    };
    let found = getrlimit(Resource::Core);
    if found == none {
        return Ok(());
    }
    let Err(error) = setrlimit(Resource::Core, none) else {
        return Ok(());
    };
    // Who may not raise a limit of 0 has enough of it where cores are files.
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern");
    if found.maximum == Some(0) && pattern.is_ok_and(|pattern| names_a_file(&pattern)) {
        return Ok(());
    }
    Err(format!(
        "a limit of {NONE} byte for cores: {error}; start it with that limit (prlimit --core={NONE})"
    ))
}

/// Return false if the kernel gives cores to a program, or to a socket.
fn names_a_file(pattern: &str) -> bool {
    !pattern.starts_with(['|', '@'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_sockets_are_no_files() {
        let patterns = [
            "core",
            "/var/cores/%p",
            "|/usr/lib/systemd/systemd-coredump %P",
            "@/run/cores",
        ];
        assert_eq!(patterns.map(names_a_file), [true, true, false, false]);
    }
}
