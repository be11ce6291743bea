//! Log lines on standard error, each behind its time in UTC.

use std::fmt::Display;
use std::time::SystemTime;

/// Write one line.
pub fn line(text: impl Display) {
    eprintln!(
        "{} {text}",
        humantime::format_rfc3339_millis(SystemTime::now())
    );
}
