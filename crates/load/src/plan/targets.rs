//! The targets of a spec, and each one's share of the load.

use std::borrow::Cow;

use rustix::net::{AddressFamily, SocketType, sockopt};

use super::sources;
use crate::engine::Share;
use crate::spec::redirect;
use crate::spec::{Expect, KeySpec, Pace, Spec, SpecError, TargetSpec};
use crate::stream::endpoint::Endpoint;
use crate::target::{Scheme, Target};

/// The targets, in the spec's order; at least one, all of one scheme.
#[derive(Clone, Debug)]
pub struct Targets(Vec<(Target, Expect)>);

impl Targets {
    /// Parse the spec's URLs.
    ///
    /// # Errors
    /// A [`SpecError`] that names the URL which cannot be used.
    pub fn of(spec: &Spec) -> Result<Self, SpecError> {
        let found: Result<Vec<_>, SpecError> = entries(spec)?
            .iter()
            .map(|entry| {
                let expect = entry.expect.as_ref().unwrap_or(&spec.expect);
                Ok((Target::parse(&entry.url)?, expect.clone()))
            })
            .collect();
        let found = found?;
        let scheme = found[0].0.scheme;
        if found.iter().any(|(target, _)| target.scheme != scheme) {
            let remedy = "give all targets the same, or run one after the other";
            return Err(SpecError::new("targets", "different schemes", remedy));
        }
        Ok(Targets(found))
    }

    /// The scheme of all URLs.
    pub fn scheme(&self) -> Scheme {
        self.0[0].0.scheme
    }

    /// Each target's name in results, and its URL as the spec writes it; empty for a sole URL.
    pub fn names(&self, spec: &Spec) -> Vec<(String, String)> {
        let name = |(number, target): (usize, &TargetSpec)| {
            let name = target.name.clone().unwrap_or_else(|| number.to_string());
            (name, target.url.clone())
        };
        spec.targets.iter().enumerate().map(name).collect()
    }

    /// The keys that replace `{key}` in the path of each target.
    pub fn keys(&self, spec: &Spec) -> Vec<Option<KeySpec>> {
        let own = |number: usize| spec.targets.get(number).and_then(|target| target.keys);
        let each = 0..self.0.len();
        each.map(|number| own(number).or(spec.keys)).collect()
    }

    /// Refuse URLs that do not begin with `scheme`, which `protocol` needs.
    ///
    /// # Errors
    /// A [`SpecError`] with the beginning that is right.
    pub fn are(&self, scheme: Scheme, protocol: &str) -> Result<(), SpecError> {
        if self.scheme() == scheme {
            return Ok(());
        }
        let found = format!("{} is not for {protocol}", self.scheme().name());
        Err(SpecError::new(
            "url",
            found,
            format!("write {}", scheme.name()),
        ))
    }

    /// Refuse URLs that are not of HTTP, which `protocol` needs.
    ///
    /// # Errors
    /// A [`SpecError`] with the beginnings that are right.
    pub fn are_http(&self, protocol: &str) -> Result<(), SpecError> {
        if self.scheme() != Scheme::Tcp {
            return Ok(());
        }
        let found = format!("{} is not for {protocol}", Scheme::Tcp.name());
        Err(SpecError::new("url", found, "write http:// or https://"))
    }

    /// Each target with its expected answers.
    pub fn iter(&self) -> impl Iterator<Item = (&Target, &Expect)> {
        self.0.iter().map(|(target, expect)| (target, expect))
    }

    /// The targets' endpoints, with their names resolved.
    ///
    /// # Errors
    /// A [`SpecError`] for a name without an address, or a congestion control that the kernel refuses.
    pub fn endpoints(&self, spec: &Spec) -> Result<Vec<Endpoint>, SpecError> {
        if let Some(name) = &spec.congestion {
            can_have(name)?;
        }
        let places: Vec<_> = self
            .iter()
            .filter_map(|(target, _)| target.named())
            .collect();
        if let Some(place) = redirect::unused(&spec.connect_to, &places)? {
            let found = format!("no URL is at {place}");
            return Err(SpecError::new(
                "connect_to",
                found,
                "write a URL's host and port",
            ));
        }
        let of_inet = [
            ("sources", !spec.sources.is_empty()),
            ("ip_version", spec.ip_version.is_some()),
            ("congestion", spec.congestion.is_some()),
        ];
        if let (true, Some((field, _))) =
            (places.is_empty(), of_inet.iter().find(|(_, given)| *given))
        {
            let found = "a Unix socket has no Internet Protocol";
            return Err(SpecError::new(field, found, "leave it out"));
        }
        let endpoint = |(target, _): &(Target, Expect)| {
            let addresses = target.resolve(spec.ip_version, &spec.connect_to)?;
            Ok(Endpoint {
                addresses: sources::reachable(&spec.sources, addresses)?,
                sources: spec.sources.clone(),
                congestion: spec.congestion.clone(),
                proxy: spec.proxy_protocol,
            })
        };
        self.0.iter().map(endpoint).collect()
    }
}

/// Check that a connection of this process can have the congestion control `name`.
fn can_have(name: &str) -> Result<(), SpecError> {
    let probe = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None);
    let found = probe.and_then(|socket| {
        sockopt::set_tcp_congestion(&socket, name)?;
        sockopt::tcp_congestion(&socket)
    });
    match found {
        Ok(found) if found == name => Ok(()),
        Ok(found) => Err(found),
        Err(error) => Err(error.to_string()),
    }
    .map_err(|found| {
        let remedy = "choose one of /proc/sys/net/ipv4/tcp_available_congestion_control";
        SpecError::new("congestion", format!("{name:?} gave {found}"), remedy)
    })
}

/// Each target's part of the connections and of the rate.
///
/// # Errors
/// A [`SpecError`] for too few connections, and for a weight that is not above 0.
pub fn shares(spec: &Spec) -> Result<Vec<Share>, SpecError> {
    let entries = entries(spec)?;
    if let Some(entry) = entries
        .iter()
        .find(|entry| !(entry.weight > 0.0 && entry.weight.is_finite()))
    {
        let found = format!("{} is not above 0", entry.weight);
        return Err(SpecError::new(
            "targets.weight",
            found,
            "write a positive number",
        ));
    }
    let by_clock = |entry: &TargetSpec| if entry.closed { 0.0 } else { entry.weight };
    let open: f64 = entries.iter().map(by_clock).sum();
    let closed = entries.iter().any(|entry| entry.closed);
    if closed && !(matches!(spec.pace, Pace::Open { .. }) && open > 0.0) {
        let found = "a closed loop without an open one beside it";
        let remedy = "take loop.kind open, and leave it out of one target at least";
        return Err(SpecError::new("targets.closed", found, remedy));
    }
    if spec.slices.is_some() {
        let alone = |entry: &TargetSpec| Share {
            connections: entry.connections.unwrap_or(spec.connections),
            rate: Some(1.0),
        };
        let shares: Vec<Share> = entries.iter().map(alone).collect();
        return each_has_one(shares, spec);
    }
    let sum: f64 = entries.iter().map(|entry| entry.weight).sum();
    let mut given = 0.0;
    let mut dealt = 0;
    let shares = entries.iter().map(|entry| {
        // Rounded where the shares add up, so that all connections are dealt out.
        given += entry.weight / sum;
        let upto = (given * spec.connections as f64).round() as usize;
        let own = upto - dealt;
        dealt = upto;
        Share {
            connections: entry.connections.unwrap_or(own),
            rate: (!entry.closed).then_some(entry.weight / open),
        }
    });
    each_has_one(shares.collect(), spec)
}

/// Refuse shares without a connection.
fn each_has_one(shares: Vec<Share>, spec: &Spec) -> Result<Vec<Share>, SpecError> {
    if shares.iter().any(|share| share.connections == 0) {
        let (found, remedy) = match shares.len() {
            1 => ("0 connections".into(), "write how many there are"),
            all => (
                format!("{} for {all} targets by their weights", spec.connections),
                "give each target at least one",
            ),
        };
        return Err(SpecError::new("connections", found, remedy));
    }
    Ok(shares)
}

/// The spec's targets; one with its URL if it has only that.
fn entries(spec: &Spec) -> Result<Cow<'_, [TargetSpec]>, SpecError> {
    match (&spec.url, spec.targets.as_slice()) {
        (Some(url), []) => Ok(vec![TargetSpec::of(url.clone())].into()),
        (None, targets @ [_, ..]) => Ok(targets.into()),
        (None, []) => Err(SpecError::new(
            "url",
            "missing",
            "write http://HOST[:PORT]/PATH",
        )),
        (Some(_), _) => Err(SpecError::new(
            "targets",
            "both url and targets are given",
            "write only one of them",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(targets: &str, connections: usize) -> Result<Vec<usize>, SpecError> {
        let json = format!(r#"{{"connections": {connections}, "targets": {targets}}}"#);
        let shares = shares(&Spec::from_json(&json)?)?;
        let rates = shares.iter().filter_map(|share| share.rate);
        assert!((rates.sum::<f64>() - 1.0).abs() < 1e-9);
        Ok(shares.iter().map(|share| share.connections).collect())
    }

    #[test]
    fn weights_deal_out_all_connections() {
        let three = r#"[{"url": "a", "weight": 6}, {"url": "b", "weight": 3}, {"url": "c"}]"#;
        assert_eq!(dealt(three, 100).unwrap(), [60, 30, 10]);
        assert_eq!(dealt(three, 7).unwrap().iter().sum::<usize>(), 7);
        let named = r#"[{"url": "a", "connections": 5}, {"url": "b", "connections": 2}]"#;
        assert_eq!(dealt(named, 1).unwrap(), [5, 2]);
    }

    #[test]
    fn the_rate_is_that_of_the_open_targets() {
        let rates = |targets: &str, pace: &str| {
            let json = format!(r#"{{"loop": {pace}, "targets": {targets}}}"#);
            let shares = shares(&Spec::from_json(&json).unwrap())?;
            Ok::<_, SpecError>(shares.iter().map(|share| share.rate).collect::<Vec<_>>())
        };
        let open = r#"{"kind": "open", "rate": 10}"#;
        let mixed = r#"[{"url": "a"}, {"url": "b", "weight": 3}, {"url": "c", "closed": true}]"#;
        assert_eq!(rates(mixed, open).unwrap(), [Some(0.25), Some(0.75), None]);
        for (targets, pace) in [
            (mixed, r#"{"kind": "closed"}"#),
            (r#"[{"url": "a", "closed": true}]"#, open),
        ] {
            let error = rates(targets, pace).unwrap_err().to_string();
            assert!(error.starts_with("targets.closed: "), "{error}");
        }
    }

    #[test]
    fn targets_have_keys_of_their_own() {
        let json = r#"{"keys": {"count": 5}, "targets": [
            {"url": "http://a/", "name": "hot"},
            {"url": "http://b/", "keys": {"count": 7, "order": "turns"}}]}"#;
        let spec = Spec::from_json(json).unwrap();
        let targets = Targets::of(&spec).unwrap();
        let counts = targets.keys(&spec);
        let counts = counts.iter().map(|keys| keys.unwrap().count);
        assert_eq!(counts.collect::<Vec<_>>(), [5, 7]);
        let names = targets.names(&spec);
        let names = names.iter().map(|(name, _)| name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["hot", "1"]);
    }

    #[test]
    fn a_target_needs_a_connection_and_a_weight() {
        let two = r#"[{"url": "a"}, {"url": "b"}]"#;
        assert!(
            dealt(two, 1)
                .unwrap_err()
                .to_string()
                .starts_with("connections: ")
        );
        let turns = r#"{"slices": {"length_ms": 2}, "targets": [{"url": "a", "connections": 0}, {"url": "b"}]}"#;
        let error = shares(&Spec::from_json(turns).unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("connections: "), "{error}");
        let none = r#"[{"url": "a", "weight": 0}]"#;
        assert!(
            dealt(none, 1)
                .unwrap_err()
                .to_string()
                .starts_with("targets.weight: ")
        );
    }

    #[test]
    fn targets_are_one_or_several_of_one_kind() {
        let of = |json: &str| Targets::of(&Spec::from_json(json).unwrap());
        assert!(of(r#"{"url": "http://a/"}"#).is_ok());
        assert!(of("{}").is_err());
        assert!(of(r#"{"url": "http://a/", "targets": [{"url": "http://b/"}]}"#).is_err());
        assert!(of(r#"{"targets": [{"url": "http://b/"}, {"url": "https://c/"}]}"#).is_err());
    }
    #[test]
    fn a_congestion_control_that_the_kernel_lacks_is_named() {
        let json = r#"{"url": "http://127.0.0.1/", "congestion": "none-such"}"#;
        let spec = Spec::from_json(json).unwrap();
        let error = Targets::of(&spec).unwrap().endpoints(&spec).unwrap_err();
        assert!(error.to_string().starts_with("congestion: \"none-such\""));
    }
}
