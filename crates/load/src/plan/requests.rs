//! The HTTP requests to each target, and the rule by which one is chosen.

use std::path::Path;
use std::sync::Arc;

use http::Method;

use super::request_file::located;
use super::targets::Targets;
use super::values::positive;
use super::{body, expectation};
use crate::engine::picks::Choice;
use crate::expectation::{Exchange, Expectation};
use crate::keys::PLACE;
use crate::protocol::ExchangeId;
use crate::sequence::template::OPEN;
use crate::spec::{Order, RequestSpec, Spec, SpecError};
use crate::target::{Scheme, Target};

/// Makes a request as one version of HTTP writes it: of target, method, headers and body.
pub type Compose<R> =
    fn(&Target, &Method, &[(String, String)], Option<&[u8]>) -> Result<R, SpecError>;

/// One request, before it is composed.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its origin and path.
    pub target: Target,
    /// Its method.
    pub method: Method,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Option<Arc<[u8]>>,
    /// The properties of its correct answers.
    pub expect: Expectation,
    /// The line of its file, if what is composed differs there from the common request.
    pub line: Option<usize>,
}

impl Asked {
    /// The same with more headers, which replace those of the same name.
    pub fn with_headers(&self, own: &[(String, String)]) -> Self {
        let replaced = |name: &str| {
            let mut names = own.iter().map(|(other, _)| other);
            names.any(|other| other.eq_ignore_ascii_case(name))
        };
        let kept = self.headers.iter().filter(|(name, _)| !replaced(name));
        Asked {
            headers: kept.chain(own).cloned().collect(),
            ..self.clone()
        }
    }
}

/// The requests of all targets.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// All of them, those of each target together.
    pub all: Vec<Asked>,
    /// By target.
    pub choices: Vec<Choice>,
}

impl Requests {
    /// The requests of `spec`, whose mix is expanded, to `targets`.
    ///
    /// # Errors
    /// A [`SpecError`] that names the field which cannot be used.
    pub fn of(spec: &Spec, targets: &Targets) -> Result<Self, SpecError> {
        let mixed = !spec.mix.is_empty() || spec.targets.iter().any(|each| !each.mix.is_empty());
        if targets.scheme() == Scheme::Tcp && mixed {
            let found = format!("several requests for {}", spec.protocol);
            return Err(SpecError::new(
                "mix",
                found,
                "take h1, h2 or h3, or leave it out",
            ));
        }
        let common = Asked {
            target: targets.iter().next().expect("at least one").0.clone(),
            method: method(&spec.method)?,
            headers: spec.headers.clone(),
            body: body(spec.body.as_ref(), spec.seed)?.map(Arc::from),
            expect: Expectation::default(),
            line: None,
        };
        let mut requests = Requests {
            all: Vec::new(),
            choices: Vec::new(),
        };
        let keys = targets.keys(spec);
        for (index, (target, expect)) in targets.iter().enumerate() {
            let common = Asked {
                target: target.clone(),
                expect: expectation(expect, &spec.protocol)?,
                ..common.clone()
            };
            let own = spec.targets.get(index).map(|target| target.mix.as_slice());
            let mix = own.filter(|mix| !mix.is_empty()).unwrap_or(&spec.mix);
            let first = requests.all.len() as ExchangeId;
            requests.choices.push(match spec.sequence {
                None => choice(mix, spec, first)?,
                // Each user knows which of them is its next.
                Some(_) => Choice::Sole(first),
            });
            // Without keys, all requests would ask for one object.
            let keyed = |asked: Asked| match keys[index] {
                None if asked.target.path.contains(PLACE) => {
                    let found = format!("{:?} has {PLACE}, and no keys", asked.target.path);
                    let remedy = "say how many objects there are (--keys N; in a spec, `keys`)";
                    Err(SpecError::new("keys", found, remedy))
                }
                _ => Ok(asked),
            };
            if mix.is_empty() {
                requests.all.push(keyed(common)?);
                continue;
            }
            for request in mix {
                let asked = asked(request, &common, spec).and_then(keyed);
                let file = spec.mix_file.as_deref();
                let asked = asked.map_err(|error| located(error, file, request.line));
                requests.all.push(asked?);
            }
        }
        let keyed = keys.iter().any(Option::is_some);
        let has_place = |asked: &Asked| asked.target.path.contains(PLACE);
        if keyed && !requests.all.iter().any(has_place) {
            let found = format!("no URL has {PLACE} in its path");
            return Err(SpecError::new(
                "keys",
                found,
                "write one, or leave them out",
            ));
        }
        let twice = |asked: &&Asked| asked.target.path.matches(PLACE).count() > 1;
        if let Some(asked) = requests.all.iter().find(twice) {
            let found = format!("{:?} has {PLACE} more than once", asked.target.path);
            return Err(SpecError::new("url", found, "write it once"));
        }
        Ok(requests)
    }

    /// All exchanges, whose requests `compose` makes; they may be of a `file`.
    ///
    /// # Errors
    /// A [`SpecError`] that names the header which cannot be used.
    pub fn exchanges<R>(
        &self,
        compose: Compose<R>,
        file: Option<&Path>,
    ) -> Result<Vec<Exchange<R>>, SpecError> {
        let exchange = |asked: &Asked| {
            let Asked {
                target,
                method,
                headers,
                body,
                expect,
                line,
            } = asked;
            let composed = compose(target, method, headers, body.as_deref());
            Ok(Exchange {
                request: composed.map_err(|error| located(error, file, *line))?,
                bodiless: method == Method::HEAD,
                grpc: false,
                expect: expect.clone(),
            })
        };
        self.all.iter().map(exchange).collect()
    }
}

/// The choice among a mix's requests, whose exchanges begin with `first`; without a mix there is one.
fn choice(mix: &[RequestSpec], spec: &Spec, first: ExchangeId) -> Result<Choice, SpecError> {
    let at = |error, request: &RequestSpec| located(error, spec.mix_file.as_deref(), request.line);
    for request in mix {
        positive("mix.weight", request.weight).map_err(|error| at(error, request))?;
    }
    if mix.len() < 2 {
        return Ok(Choice::Sole(first));
    }
    if spec.mix_order == Order::Turns {
        if mix.iter().any(|request| request.weight != 1.0) {
            let remedy = "leave out the weights, or the order";
            return Err(SpecError::new("mix_order", "turns beside weights", remedy));
        }
        let all: Vec<_> = (first..).take(mix.len()).collect();
        return Ok(Choice::Turns(all.into()));
    }
    let mut sum = 0.0;
    let sums = mix.iter().map(|request| {
        sum += request.weight;
        sum
    });
    let sums = sums.collect();
    positive("mix.weight", sum)?;
    Ok(Choice::Weighted(first, sums))
}

/// One request of a mix, over what is `common` to all.
fn asked(request: &RequestSpec, common: &Asked, spec: &Spec) -> Result<Asked, SpecError> {
    let own = body(request.body.as_ref(), spec.seed)?.map(Arc::from);
    Ok(Asked {
        target: match spec.sequence {
            Some(_) if request.url.starts_with(OPEN) => whole(&request.url, &common.target)?,
            _ => place(&request.url, &common.target)?,
        },
        method: match &request.method {
            Some(name) => method(name)?,
            None => common.method.clone(),
        },
        headers: common.with_headers(&request.headers).headers,
        body: own.or_else(|| common.body.clone()),
        expect: match &request.expect {
            Some(expect) => expectation(expect, &spec.protocol)?,
            None => common.expect.clone(),
        },
        line: request
            .line
            .filter(|_| !request.headers.is_empty() || request.body.is_some()),
    })
}

/// The place of `url` at `target`'s origin.
fn place(url: &str, target: &Target) -> Result<Target, SpecError> {
    if url.starts_with('/') {
        return target.at(url);
    }
    let found = Target::parse(url)?;
    if found.shares_origin(target) {
        return Ok(found);
    }
    let found = format!("{url:?} is not at {}", target.authority);
    let remedy = "write its path alone, or leave out the other URL";
    Err(SpecError::new("mix", found, remedy))
}

/// A path that begins with a user's value, which must begin with `/`.
fn whole(url: &str, target: &Target) -> Result<Target, SpecError> {
    let mut found = target.at(&format!("/{url}"))?;
    found.path.remove(0);
    Ok(found)
}

/// The HTTP method of this name.
///
/// # Errors
/// A [`SpecError`] when it is none, and for CONNECT.
pub fn method(name: &str) -> Result<Method, SpecError> {
    let method = name.parse().map_err(|_| {
        let found = format!("{name:?} is not an HTTP method");
        SpecError::new("method", found, "write it as GET")
    })?;
    if method == Method::CONNECT {
        let found = "CONNECT asks for a tunnel, which has no answer to measure";
        return Err(SpecError::new("method", found, "take another method"));
    }
    Ok(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(json: &str) -> Result<Requests, SpecError> {
        let spec = Spec::from_json(json).unwrap();
        Requests::of(&spec, &Targets::of(&spec)?)
    }

    #[test]
    fn a_request_has_the_common_parts_that_it_does_not_replace() {
        let json = r#"{"url": "http://a:1/", "method": "PUT", "headers": {"X-A": "1", "X-B": "2"},
            "body": "all", "expect": {"status": [201]}, "mix": [
            {"url": "/1?q", "headers": {"x-a": "3"}}, {"url": "http://a:1/2", "method": "HEAD",
             "body": "own", "expect": {"status": [204]}}]}"#;
        let Requests { all, .. } = requests(json).unwrap();
        let header = |name: &str, value: &str| (name.to_string(), value.to_string());
        assert_eq!(
            (all[0].target.path.as_str(), &all[0].method),
            ("/1?q", &Method::PUT)
        );
        assert_eq!(all[0].headers, [header("X-B", "2"), header("x-a", "3")]);
        assert_eq!(all[0].body.as_deref(), Some(&b"all"[..]));
        assert_eq!(all[0].expect.statuses, [201]);
        assert_eq!(
            (all[1].target.path.as_str(), &all[1].method),
            ("/2", &Method::HEAD)
        );
        assert_eq!(all[1].body.as_deref(), Some(&b"own"[..]));
        assert_eq!(all[1].expect.statuses, [204]);
    }

    #[test]
    fn each_target_has_all_requests_at_its_origin() {
        let json = r#"{"targets": [{"url": "http://a/"}, {"url": "http://b/"}],
                       "mix": [{"url": "/1"}, {"url": "/2", "weight": 3}]}"#;
        let Requests { all, choices } = requests(json).unwrap();
        let places = all
            .iter()
            .map(|asked| (asked.target.authority.as_str(), asked.target.path.as_str()));
        let expected = [("a", "/1"), ("a", "/2"), ("b", "/1"), ("b", "/2")];
        assert_eq!(places.collect::<Vec<_>>(), expected);
        let firsts = choices.iter().map(|choice| match choice {
            Choice::Weighted(first, sums) => (*first, sums.to_vec()),
            other => panic!("{other:?}"),
        });
        let expected = [(0, vec![1.0, 4.0]), (2, vec![1.0, 4.0])];
        assert_eq!(firsts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_no_request_is_named() {
        for (field, mix, order) in [
            ("mix", r#"{"url": "http://b/"}"#, "random"),
            ("mix", r#"{"url": "/a b"}"#, "random"),
            ("mix.weight", r#"{"url": "/", "weight": 0}"#, "random"),
            ("mix_order", r#"{"url": "/", "weight": 2}"#, "turns"),
            ("method", r#"{"url": "/", "method": "G T"}"#, "random"),
            ("method", r#"{"url": "/", "method": "CONNECT"}"#, "random"),
            (
                "expect.status",
                r#"{"url": "/", "expect": {"status": [7]}}"#,
                "random",
            ),
        ] {
            let json = format!(
                r#"{{"url": "http://a/", "mix_order": "{order}", "mix": [{{"url": "/"}}, {mix}]}}"#
            );
            let error = requests(&json).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{field}: ")), "{error}");
        }
        let json = r#"{"url": "tcp://a:1", "protocol": "echo", "mix": [{"url": "/"}]}"#;
        assert!(requests(json).is_err());
        let keyed = |path: &str| {
            requests(&format!(
                r#"{{"url": "http://a/", "keys": {{"count": 5}}, "mix": [{{"url": "/"}}, {{"url": "{path}"}}]}}"#
            ))
        };
        assert!(keyed("/{key}").is_ok());
        let error = keyed("/key").unwrap_err().to_string();
        assert!(error.starts_with("keys: no URL has {key} "), "{error}");
        let targets =
            r#"[{"url": "http://a/{key}", "keys": {"count": 5}}, {"url": "http://b/{key}"}]"#;
        for unkeyed in [
            r#"{"url": "http://a/{key}"}"#,
            r#"{"url": "http://a/", "mix": [{"url": "/{key}"}]}"#,
            &format!(r#"{{"targets": {targets}}}"#),
        ] {
            let error = requests(unkeyed).unwrap_err().to_string();
            let words = "keys: \"/{key}\" has {key}, and no keys; say how many";
            assert!(error.starts_with(words), "{error}");
        }
    }
}
