//! The wait for a common start of several generators.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crate::engine::Observer;

/// Interval at which the file is looked for: how much later than another a generator may start.
const LOOK: Duration = Duration::from_micros(200);

/// Tell `observer` that the run is ready, and wait until `file` is there or an interrupt comes,
/// which is left to the run.
///
/// # Errors
/// When the observer fails.
pub fn wait(
    file: &Path,
    observer: &mut (impl Observer + ?Sized),
    interrupt: &AtomicBool,
) -> io::Result<()> {
    observer.ready()?;
    while !file.exists() && !interrupt.load(Relaxed) {
        thread::sleep(LOOK);
    }
    Ok(())
}
