//! The requests of a spec's mix, by origin.

use std::borrow::Cow;
use std::path::Path;

use super::request_file::{self, located};
use crate::spec::{RequestSpec, Spec, SpecError, TargetSpec};
use crate::target::Target;

/// The spec with its mix read from its file, and with the mix's origins as its targets unless it
/// names some.
///
/// # Errors
/// A [`SpecError`] for a file that cannot be used, and for a request without an origin.
pub fn expand(spec: &Spec) -> Result<Cow<'_, Spec>, SpecError> {
    let from_file = match &spec.mix_file {
        Some(_) if !spec.mix.is_empty() => {
            let found = "both mix and mix_file are given";
            return Err(SpecError::new("mix", found, "write only one of them"));
        }
        Some(file) => Some(request_file::read(file)?),
        None => None,
    };
    let mix = from_file.as_ref().unwrap_or(&spec.mix);
    let named = spec.url.is_some() || !spec.targets.is_empty();
    if named || mix.is_empty() {
        return Ok(match from_file {
            None => Cow::Borrowed(spec),
            Some(mix) => Cow::Owned(Spec {
                mix,
                ..spec.clone()
            }),
        });
    }
    let mut targets = by_origin(mix, spec.mix_file.as_deref())?;
    if spec.sequence.is_some() && targets.len() > 1 {
        let found = format!("the requests go to {} servers", targets.len());
        let remedy = "a user has one connection: write a file for each server";
        return Err(SpecError::new("sequence", found, remedy));
    }
    let (url, mix, targets) = match targets.as_mut_slice() {
        [only] => (
            Some(only.url.clone()),
            std::mem::take(&mut only.mix),
            vec![],
        ),
        _ => (None, vec![], targets),
    };
    Ok(Cow::Owned(Spec {
        url,
        mix,
        targets,
        ..spec.clone()
    }))
}

/// A target for each origin, with the sum of its requests' weights; the requests may be of a
/// `file`.
fn by_origin(mix: &[RequestSpec], file: Option<&Path>) -> Result<Vec<TargetSpec>, SpecError> {
    let mut origins: Vec<(Target, TargetSpec)> = Vec::new();
    for request in mix {
        if request.url.starts_with(['/', '$']) {
            let found = format!("{:?} has no origin", request.url);
            let remedy = "name a URL beside the requests, or write http://HOST[:PORT]/PATH";
            return Err(located(
                SpecError::new("mix", found, remedy),
                file,
                request.line,
            ));
        }
        let parsed = Target::parse(&request.url);
        let parsed = parsed.map_err(|error| located(error, file, request.line))?;
        let known = origins
            .iter_mut()
            .find(|(origin, _)| origin.shares_origin(&parsed));
        match known {
            Some((_, target)) => {
                target.weight += request.weight;
                target.mix.push(request.clone());
            }
            None => {
                let target = TargetSpec {
                    weight: request.weight,
                    mix: vec![request.clone()],
                    ..TargetSpec::of(request.url.clone())
                };
                origins.push((parsed, target));
            }
        }
    }
    Ok(origins.into_iter().map(|(_, target)| target).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(json: &str) -> Result<Spec, SpecError> {
        expand(&Spec::from_json(json).unwrap()).map(Cow::into_owned)
    }

    #[test]
    fn origins_are_targets() {
        let two = r#"{"mix": [{"url": "http://a/1", "weight": 2}, {"url": "http://b/"},
                              {"url": "http://a/2"}]}"#;
        let spec = expanded(two).unwrap();
        let parts = spec.targets.iter();
        let parts = parts.map(|target| (target.url.as_str(), target.weight, target.mix.len()));
        let expected = [("http://a/1", 3.0, 2), ("http://b/", 1.0, 1)];
        assert_eq!(parts.collect::<Vec<_>>(), expected);
        let one = expanded(r#"{"mix": [{"url": "http://a/1"}, {"url": "http://a:80/2"}]}"#);
        let one = one.unwrap();
        assert_eq!((one.url.as_deref(), one.mix.len()), (Some("http://a/1"), 2));
    }

    #[test]
    fn a_named_target_keeps_the_mix() {
        let spec = expanded(r#"{"url": "http://a/", "mix": [{"url": "/1"}]}"#).unwrap();
        assert_eq!((spec.mix.len(), spec.targets.len()), (1, 0));
    }

    #[test]
    fn what_has_no_place_is_named() {
        for json in [
            r#"{"mix": [{"url": "/1"}]}"#,
            r#"{"mix": [{"url": "ftp://a/"}]}"#,
            r#"{"mix": [{"url": "http://a/"}], "mix_file": "f"}"#,
            r#"{"url": "http://a/", "mix_file": "/nonexistent"}"#,
        ] {
            assert!(expanded(json).is_err(), "{json}");
        }
    }
}
