//! The measurement's description: the file that `--spec` names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// The spec; an unknown field is an error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Version of this format.
    pub schema: u32,
    /// The filter library; without one, a function that does nothing is called.
    pub library: Option<PathBuf>,
    /// The prefix that is accepted.
    pub prefix: String,
    /// The library's environment; an empty value unsets the variable.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Bytes of the paths to try.
    pub lengths: Vec<usize>,
    /// The CPUs that may be used, of which one is.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Seconds before the measured window.
    #[serde(default)]
    pub warmup_s: f64,
    /// Seconds of the measured window.
    pub duration_s: f64,
}
