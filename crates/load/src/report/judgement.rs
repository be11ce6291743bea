//! The judgement of a condition.

use std::fmt;

use crate::time::{format_rate, format_us};

/// The judgement of a condition by a run's figure.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Judgement {
    /// The condition as written.
    pub condition: String,
    /// True if it is met.
    pub ok: bool,
    /// The figure, times in microseconds; none if the run has none, or too small a sample for it.
    pub found: Option<f64>,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.ok { "holds" } else { "FAILED" };
        let Some(found) = self.found else {
            return write!(
                f,
                "{}: {verdict} (the run has no such figure, or too few samples for it)",
                self.condition
            );
        };
        let found = match self.condition.as_str() {
            share if share.ends_with('%') && found > 0.0 && found < 1e-5 => {
                format!("{:e} %", (found * 1e10).round() / 1e8)
            }
            share if share.ends_with('%') => format!("{:.3} %", found * 100.0),
            count if count.starts_with("rate") => format_rate(found),
            count if count.starts_with("errors") => format!("{found:.0}"),
            _ => format_us(found),
        };
        write!(f, "{}: {verdict} (found {found})", self.condition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_as_they_are() {
        let told = |condition: &str, found: f64| {
            let (condition, found) = (condition.to_string(), Some(found));
            Judgement {
                condition,
                ok: true,
                found,
            }
            .to_string()
        };
        assert_eq!(told("rate>0.3", 0.4), "rate>0.3: holds (found 0.40)");
        assert_eq!(told("errors<1%", 0.005), "errors<1%: holds (found 0.500 %)");
        assert_eq!(
            told("errors<0.001%", 4e-6),
            "errors<0.001%: holds (found 4e-4 %)"
        );
        let (condition, found) = ("handshake_p50<1s".into(), None);
        let unknown = Judgement {
            condition,
            ok: false,
            found,
        }
        .to_string();
        assert!(
            unknown.ends_with("FAILED (the run has no such figure, or too few samples for it)")
        );
        assert_eq!(told("errors<1%", 0.0), "errors<1%: holds (found 0.000 %)");
    }
}
