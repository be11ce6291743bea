//! The requests of a mix.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::headers;
use super::parts::{Body, Expect};

/// One of several requests to a target.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// Its path and query, or its whole URL.
    pub url: String,
    /// Its method, if not the common one.
    #[serde(default)]
    pub method: Option<String>,
    /// Its headers beside the common ones, of which they replace those of the same name.
    #[serde(default, deserialize_with = "headers::read")]
    pub headers: Vec<(String, String)>,
    /// Its body, if not the common one.
    #[serde(default)]
    pub body: Option<Body>,
    /// Its part of the target's requests.
    #[serde(default = "one")]
    pub weight: f64,
    /// The properties of its correct answers, if not the target's.
    #[serde(default)]
    pub expect: Option<Expect>,
    /// The values to take from its answers: the place of each by its name.
    #[serde(default)]
    pub take: BTreeMap<String, String>,
    /// The line of its file, if it is of one.
    #[serde(skip)]
    pub line: Option<usize>,
}

impl RequestSpec {
    /// A request for this URL, with the common rest.
    pub fn of(url: String) -> Self {
        RequestSpec {
            url,
            method: None,
            headers: Vec::new(),
            body: None,
            weight: one(),
            expect: None,
            take: BTreeMap::new(),
            line: None,
        }
    }
}

fn one() -> f64 {
    1.0
}
