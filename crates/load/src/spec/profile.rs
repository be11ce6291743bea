//! The rate of an open loop over time.

use std::path::PathBuf;

use serde::Deserialize;

/// The change of an open loop's rate, from the opening of the window. Rates are per second.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Profile {
    /// It grows or falls evenly to another rate, and stays.
    Ramp {
        /// The last rate.
        to: f64,
        /// Seconds until it is reached.
        s: f64,
    },
    /// It is another one for a time.
    Spike {
        /// The other rate.
        to: f64,
        /// Seconds until it begins.
        at_s: f64,
        /// Seconds that it lasts.
        s: f64,
    },
    /// It goes up and down as a sine does.
    Sine {
        /// The largest difference from the loop's rate.
        amplitude: f64,
        /// Seconds of a whole wave.
        period_s: f64,
    },
    /// It changes evenly between points; two of one time make a step.
    Points {
        /// Seconds and rates.
        points: Vec<(f64, f64)>,
    },
    /// The same, with a point a line.
    File {
        /// The file.
        file: PathBuf,
    },
}
