//! The load generator's spec, as docs/FORMAT.md describes it.

mod error;
mod headers;
mod ip_version;
mod keys;
mod mix;
mod pace;
mod parts;
mod profile;
mod proxy_version;
pub mod redirect;
mod replay;
mod sequence;
mod slices;
mod target;
mod think;

use std::net::IpAddr;
use std::path::PathBuf;

use serde::Deserialize;

use self::redirect::Redirects;

pub use self::error::SpecError;
pub use self::ip_version::IpVersion;
pub use self::keys::{KeySpec, Order};
pub use self::mix::RequestSpec;
pub use self::pace::{Pace, Spread, Wait};
pub use self::parts::{Body, Expect, Tls};
pub use self::profile::Profile;
pub use self::proxy_version::ProxyVersion;
pub use self::replay::ReplaySpec;
pub use self::sequence::SequenceSpec;
pub use self::slices::SliceSpec;
pub use self::target::{AccountFiles, TargetSpec};
pub use self::think::Think;

/// The version of the spec and of the result.
pub const SCHEMA: u32 = 1;

/// A load, its duration, and the expected answers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Version of this format: [`SCHEMA`].
    #[serde(default = "default::schema")]
    pub schema: u32,
    /// The protocol's name.
    #[serde(default = "default::protocol")]
    pub protocol: String,
    /// The target, if there is one.
    #[serde(default)]
    pub url: Option<String>,
    /// The targets, if there are several.
    #[serde(default)]
    pub targets: Vec<TargetSpec>,
    /// The request's method.
    #[serde(default = "default::method")]
    pub method: String,
    /// The request's own headers, in their order.
    #[serde(default, deserialize_with = "headers::read")]
    pub headers: Vec<(String, String)>,
    /// The request's body.
    #[serde(default)]
    pub body: Option<Body>,
    /// The requests that each target is sent instead of the one to its URL.
    #[serde(default)]
    pub mix: Vec<RequestSpec>,
    /// A file with such requests, one a line.
    #[serde(default)]
    pub mix_file: Option<PathBuf>,
    /// The order in which they are sent.
    #[serde(default)]
    pub mix_order: Order,
    /// Sends them as users do, with values of their answers.
    #[serde(default)]
    pub sequence: Option<SequenceSpec>,
    /// The log whose requests are sent at their own times.
    #[serde(default)]
    pub replay: Option<ReplaySpec>,
    /// The header by which an answer says whether a cache had it.
    #[serde(default)]
    pub cache_header: Option<String>,
    /// The keys that replace `{key}` in the URLs' paths.
    #[serde(default)]
    pub keys: Option<KeySpec>,
    /// The demands on an encrypted connection.
    #[serde(default)]
    pub tls: Tls,
    /// Connections over all threads.
    #[serde(default = "default::connections")]
    pub connections: usize,
    /// Requests in flight on each connection: pipelined, or in streams.
    #[serde(default = "default::depth")]
    pub depth: usize,
    /// Requests on a connection before it is closed and another opened.
    #[serde(default)]
    pub requests_per_connection: Option<u64>,
    /// The version of the Internet Protocol; both if absent.
    #[serde(default)]
    pub ip_version: Option<IpVersion>,
    /// Other places to connect to than those that URLs name.
    #[serde(default)]
    pub connect_to: Redirects,
    /// The version of the PROXY header that each connection begins with.
    #[serde(default)]
    pub proxy_protocol: Option<ProxyVersion>,
    /// Local addresses that connections take turns in.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
    /// TCP congestion control of the connections; the kernel's default if absent.
    #[serde(default)]
    pub congestion: Option<String>,
    /// Worker threads.
    #[serde(default = "default::threads")]
    pub threads: usize,
    /// Thread *i* runs on CPU `cpus[i % len]`.
    #[serde(default)]
    pub cpus: Option<Vec<usize>>,
    /// The rule for when requests are sent.
    #[serde(default, rename = "loop")]
    pub pace: Pace,
    /// The change of an open loop's rate over the window.
    #[serde(default)]
    pub profile: Option<Profile>,
    /// The pause of a closed loop between an answer and the connection's next request.
    #[serde(default)]
    pub think: Option<Think>,
    /// The slices in which the targets take turns; without them all are loaded at once.
    #[serde(default)]
    pub slices: Option<SliceSpec>,
    /// Requests after which the window ends.
    #[serde(default)]
    pub requests: Option<u64>,
    /// Seconds of load before the window.
    #[serde(default = "default::warmup_s")]
    pub warmup_s: f64,
    /// Seconds of the window; infinite if the load ends by itself.
    #[serde(default = "default::duration_s")]
    pub duration_s: f64,
    /// Seconds of load after the window.
    #[serde(default)]
    pub cooldown_s: f64,
    /// Connections opened per second; all at once if absent.
    #[serde(default)]
    pub ramp_per_s: Option<f64>,
    /// Seconds that a whole answer may take.
    #[serde(default = "default::timeout_s")]
    pub timeout_s: f64,
    /// Seconds that making a connection may take, if not the same.
    #[serde(default)]
    pub connect_timeout_s: Option<f64>,
    /// Seconds that the first byte of an answer may take, if not the same.
    #[serde(default)]
    pub ttfb_timeout_s: Option<f64>,
    /// True to send each request once, one after the other, and keep the answers whole.
    #[serde(default)]
    pub ask: bool,
    /// Answers to keep as they came.
    #[serde(default)]
    pub show: usize,
    /// A file for the times of each answer.
    #[serde(default)]
    pub times_file: Option<PathBuf>,
    /// A file whose appearance starts the run, so that several generators start together.
    #[serde(default)]
    pub start_file: Option<PathBuf>,
    /// Seed of all that is random.
    #[serde(default = "default::seed")]
    pub seed: u64,
    /// The properties of a correct answer.
    #[serde(default)]
    pub expect: Expect,
}

/// The defaults, common to the spec and the command line.
pub mod default {
    #![allow(missing_docs)]

    pub const LONGEST_S: f64 = 3600.0;
    pub const UNBOUNDED_S: f64 = f64::INFINITY;

    pub fn schema() -> u32 {
        super::SCHEMA
    }
    pub fn protocol() -> String {
        "h1".into()
    }
    pub fn method() -> String {
        "GET".into()
    }
    pub fn connections() -> usize {
        64
    }
    pub fn message_size() -> usize {
        64
    }
    pub fn depth() -> usize {
        1
    }
    pub fn threads() -> usize {
        1
    }
    pub fn warmup_s() -> f64 {
        1.0
    }
    pub fn duration_s() -> f64 {
        10.0
    }
    pub fn timeout_s() -> f64 {
        5.0
    }
    pub fn seed() -> u64 {
        42
    }
}

impl Spec {
    /// Return true if the window ends with its requests or its log, however long that takes.
    pub fn is_unbounded(&self) -> bool {
        self.duration_s.is_infinite()
    }

    /// Read a spec from JSON.
    ///
    /// # Errors
    /// A [`SpecError`] that names the field.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let spec: Spec = serde_path_to_error::deserialize(&mut json).map_err(|why| {
            SpecError::new(&why.path().to_string(), why.inner(), "see docs/FORMAT.md")
        })?;
        json.end()
            .map_err(|why| SpecError::new("spec", why, "write one JSON object"))?;
        if spec.schema != SCHEMA {
            let found = format!("unknown version {}", spec.schema);
            return Err(SpecError::new("schema", found, format!("write {SCHEMA}")));
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_but_url_has_a_default() {
        let spec = Spec::from_json(r#"{"url": "http://127.0.0.1/"}"#).unwrap();
        assert_eq!((spec.connections, spec.threads), (64, 1));
        assert_eq!(spec.pace, Pace::CLOSED);
        assert_eq!(spec.expect.status, [200]);
        assert_eq!(spec.depth, 1);
    }

    #[test]
    fn reads_the_open_loop() {
        let json = r#"{"url": "u", "loop": {"kind": "open", "rate": 10, "arrivals": "even"}}"#;
        let open = Pace::Open {
            rate: 10.0,
            arrivals: Spread::Even,
            wait: Wait::Spin,
        };
        assert_eq!(Spec::from_json(json).unwrap().pace, open);
    }

    #[test]
    fn a_header_has_one_value_or_several() {
        let json = r#"{"headers": {"X-B": ["2", "1"], "X-A": "3"}}"#;
        let wanted = [("X-B", "2"), ("X-B", "1"), ("X-A", "3")];
        let wanted = wanted.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(Spec::from_json(json).unwrap().headers, wanted);
    }

    #[test]
    fn errors_name_the_field() {
        for (json, name) in [
            (r#"{"url": "u", "conections": 1}"#, "conections"),
            (r#"{"url": "u", "connections": "1"}"#, "connections"),
            (
                r#"{"url": "u", "loop": {"kind": "open", "rate": 1, "rat": 2}}"#,
                "rat",
            ),
            (r#"{"url": "u", "expect": {"statuses": [200]}}"#, "expect"),
            (r#"{"url": "u", "schema": 2}"#, "schema"),
            (r#"{"url": "u", "body": {"size": 1, "sise": 2}}"#, "body"),
            (r#"{"url": "u", "headers": {"X-A": 1}}"#, "headers"),
        ] {
            let error = Spec::from_json(json).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
