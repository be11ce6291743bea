//! The replay of an access log, as a spec describes it.

use std::path::PathBuf;

use serde::Deserialize;

use super::pace::Wait;
use crate::replay::LogFormat;

/// A log, and how its requests are sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaySpec {
    /// The log.
    pub file: PathBuf,
    /// Its format; the one that it seems to have if absent.
    #[serde(default)]
    pub format: Option<LogFormat>,
    /// Seconds of the log in a second of the run.
    #[serde(default = "one")]
    pub speed: f64,
    /// False to send the requests in the log's order, but as the loop says and not at their times.
    #[serde(default = "yes")]
    pub timed: bool,
    /// True to begin again after the last request.
    #[serde(default)]
    pub repeat: bool,
    /// True to expect the statuses that the log has, as far as it has any.
    #[serde(default = "yes")]
    pub expect_logged: bool,
    /// The way in which a thread waits for the next send.
    #[serde(default)]
    pub wait: Wait,
}

fn one() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}
