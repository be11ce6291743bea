//! Processes by who started them.

use std::fs;

/// Processes that `pid` started, whichever thread of it did.
pub fn children(pid: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let lists = tasks.into_iter().flatten().flatten();
    lists
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|each| each.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The process at the end of the line of first children that begins with `pid`.
pub fn innermost(pid: i32) -> i32 {
    children(pid).first().copied().map_or(pid, innermost)
}
