//! One of several targets, as a spec describes it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::keys::KeySpec;
use super::mix::RequestSpec;
use super::parts::Expect;

/// Files with the CPU time of groups so far, by the name of the role that a group holds.
pub type AccountFiles = BTreeMap<String, PathBuf>;

/// One of several targets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Its URL.
    pub url: String,
    /// Its name in results, if not its index.
    #[serde(default)]
    pub name: Option<String>,
    /// Its part of an open loop's rate, and of the connections unless it names their number.
    #[serde(default = "one")]
    pub weight: f64,
    /// True if it is loaded in a closed loop beside the others' open one.
    #[serde(default)]
    pub closed: bool,
    /// The requests that it is sent, if not the common ones.
    #[serde(default)]
    pub mix: Vec<RequestSpec>,
    /// The keys that replace `{key}` in its path, if not the common ones.
    #[serde(default)]
    pub keys: Option<KeySpec>,
    /// Its connections.
    #[serde(default)]
    pub connections: Option<usize>,
    /// The properties of its correct answers, if not the common ones.
    #[serde(default)]
    pub expect: Option<Expect>,
    /// Files with the CPU time of its control groups, by role, for slices.
    #[serde(default)]
    pub accounts: AccountFiles,
}

impl TargetSpec {
    /// A target with this URL and defaults for the rest.
    pub fn of(url: String) -> Self {
        TargetSpec {
            url,
            name: None,
            weight: one(),
            closed: false,
            mix: Vec::new(),
            keys: None,
            connections: None,
            expect: None,
            accounts: AccountFiles::new(),
        }
    }
}

fn one() -> f64 {
    1.0
}
