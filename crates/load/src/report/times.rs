//! The times of each answer as comma-separated values.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::engine::Outcome;
use crate::spec::SpecError;

/// Create a file before the load, so that nothing is loaded in vain.
///
/// # Errors
/// A [`SpecError`] when it cannot be written.
pub fn create(file: &Path) -> Result<File, SpecError> {
    File::create(file).map_err(|why| {
        let found = format!("{} cannot be written ({why})", file.display());
        let remedy = "name a file in a folder that you may write";
        SpecError::new("times_file", found, remedy)
    })
}

/// Write a line for each answer that was kept, below a heading, with its target's number, its port,
/// its times in nanoseconds of the monotonic clock, and its places in the connection's bytes.
///
/// # Errors
/// When it cannot be written.
pub fn write(mut to: impl Write, outcome: &Outcome) -> io::Result<()> {
    let heading = "target,port,opened_ns,connected_ns,intended_ns,sent_ns,answered_ns,\
        sent_bytes,answered_bytes";
    writeln!(to, "{heading}")?;
    for (target, tally) in outcome.targets.iter().enumerate() {
        for each in &tally.times.kept {
            write!(to, "{target},{}", each.port)?;
            for time in [
                each.opened,
                each.connected,
                each.intended,
                each.sent,
                each.answered,
            ] {
                write!(to, ",{}", outcome.origin_ns + time)?;
            }
            let [sent, answered] = each.ends;
            writeln!(to, ",{sent},{answered}")?;
        }
    }
    to.flush()
}

/// The number of answers that found no room.
pub fn dropped(outcome: &Outcome) -> u64 {
    let targets = outcome.targets.iter();
    targets.map(|tally| tally.times.dropped).sum()
}
