//! The threads of the kernel, which are processes to /proc.

use std::fs;

use crate::failure::Failure;

/// A task that never was in user space (include/linux/sched.h).
const PF_KTHREAD: u32 = 0x0020_0000;
/// Of the fields of /proc/PID/stat behind the name (proc_pid_stat(5)).
const FLAGS: usize = 6;

/// Return the numbers of all threads of the kernel. What they start later, their parent kthreadd starts.
pub fn kernel_threads() -> Result<Vec<u32>, Failure> {
    let entries = fs::read_dir("/proc").map_err(|error| Failure::of("reading /proc", error))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| {
            // One may end meanwhile.
            fs::read_to_string(format!("/proc/{number}/stat")).is_ok_and(|stat| of_kernel(&stat))
        })
        .collect())
}

fn of_kernel(stat: &str) -> bool {
    // A name may have anything in it, also spaces and parentheses.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let flags = fields.split_whitespace().nth(FLAGS);
    flags
        .and_then(|text| text.parse::<u32>().ok())
        .is_some_and(|flags| flags & PF_KTHREAD != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_tells_it() {
        assert!(of_kernel("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0"));
        assert!(of_kernel("9 (a) b (c) I 2 0 0 0 -1 69238880 0 0"));
        assert!(!of_kernel("1 (init) S 0 1 1 0 -1 4194560 0 0"));
        assert!(!of_kernel("7 (gone"));
    }

    #[test]
    fn this_process_is_none() {
        let found = kernel_threads().expect("/proc is there");
        assert!(!found.contains(&std::process::id()));
    }
}
