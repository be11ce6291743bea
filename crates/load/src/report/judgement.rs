//! The judgement of a condition.

use std::fmt;

use crate::time::format_us;

/// The judgement of a condition by a run's figure.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Judgement {
    /// The condition as written.
    pub condition: String,
    /// True if it is met.
    pub ok: bool,
    /// The figure, times in microseconds; none if the sample is too small for it.
    pub found: Option<f64>,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.ok { "holds" } else { "FAILED" };
        let Some(found) = self.found else {
            return write!(
                f,
                "{}: {verdict} (too few samples for this figure)",
                self.condition
            );
        };
        let found = match self.condition.as_str() {
            share if share.ends_with('%') => format!("{:.3} %", found * 100.0),
            count if count.starts_with("rate") || count.starts_with("errors") => {
                format!("{found:.0}")
            }
            _ => format_us(found),
        };
        write!(f, "{}: {verdict} (found {found})", self.condition)
    }
}
