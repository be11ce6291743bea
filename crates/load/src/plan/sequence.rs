//! The requests of sequences: the values that they take and use, checked before the load.

use http::Method;

use super::request_file::located;
use super::requests::{Asked, Requests};
use crate::crowd::parts::{Compose, Payload, Refuse};
use crate::crowd::turn::{Sequences, Step};
use crate::engine::picks::Choice;
use crate::expectation::{Exchange, Expectation};
use crate::protocol::ExchangeId;
use crate::sequence::capture::Wants;
use crate::sequence::names::Names;
use crate::sequence::place::{self, Place};
use crate::sequence::take::Take;
use crate::sequence::template::is_name;
use crate::spec::{Body, Order, RequestSpec, Spec, SpecError};

/// Refuse what has no meaning in a sequence, and values that are taken without one.
///
/// # Errors
/// A [`SpecError`] that names the field.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    let own = spec.targets.iter().flat_map(|target| &target.mix);
    let requests: Vec<(usize, &RequestSpec)> = spec.mix.iter().chain(own).enumerate().collect();
    let Some(sequence) = spec.sequence else {
        let taking = requests.iter().find(|(_, each)| !each.take.is_empty());
        return taking.map_or(Ok(()), |(index, request)| {
            let found = "values are taken in a sequence alone";
            Err(refuse(
                spec,
                *index,
                request,
                found,
                "add --sequence (in a spec, \"sequence\": {}), or leave out `take`",
            ))
        });
    };
    let cookie = |headers: &[(String, String)]| {
        headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("cookie"))
    };
    let cookies = cookie(&spec.headers) || requests.iter().any(|(_, each)| cookie(&each.headers));
    for (wrong, found, remedy) in [
        (
            !matches!(spec.protocol.as_str(), "h1" | "h2" | "h3" | "auto"),
            format!("{} has no sequences of requests", spec.protocol),
            "take h1, h2 or h3 (--protocol)",
        ),
        (
            spec.replay.is_some(),
            "a log has an order of its own".into(),
            "leave out either",
        ),
        (
            requests.is_empty(),
            "there is one request alone".into(),
            "name a file of them (--requests FILE, or `mix`)",
        ),
        (
            spec.mix_order == Order::Turns,
            "each user sends the requests in their order".into(),
            "leave out --in-order (in a spec, `mix_order`)",
        ),
        (
            spec.slices.is_some(),
            "in slices no user would keep its place".into(),
            "leave out either",
        ),
        (
            spec.ask,
            "each request is asked by itself".into(),
            "leave out either",
        ),
        (
            sequence.cookies && cookies,
            "a Cookie header beside a user's own cookies".into(),
            "leave out the header or --cookies",
        ),
    ] {
        if wrong {
            return Err(SpecError::new("sequence", found, remedy));
        }
    }
    match requests.iter().find(|(_, each)| each.weight != 1.0) {
        Some((index, request)) => {
            let found = format!("weight {} in a sequence", request.weight);
            Err(refuse(
                spec,
                *index,
                request,
                found,
                "leave it out: all are sent equally often",
            ))
        }
        None => Ok(()),
    }
}

/// Refuse several requests at a time on a connection that is one user.
///
/// # Errors
/// A [`SpecError`] with the remedies.
pub fn one_at_a_time(spec: &Spec) -> Result<(), SpecError> {
    if spec.depth > 1 {
        let found = format!("a user sends one request at a time, not {}", spec.depth);
        let remedy = "leave out --depth, or take h2 or h3, of which each stream is a user";
        return Err(SpecError::new("sequence", found, remedy));
    }
    Ok(())
}

/// The sequences that `spec` describes, of its `requests`, as `compose` makes them.
///
/// # Errors
/// A [`SpecError`] that names the request which cannot be used.
pub fn sequences<R>(
    spec: &Spec,
    requests: &Requests,
    compose: Compose<R>,
) -> Result<Sequences<R>, SpecError> {
    let mut found = Sequences {
        exchanges: Vec::new(),
        steps: Vec::new(),
        values: 0,
        cookies: spec.sequence.is_some_and(|sequence| sequence.cookies),
    };
    for (target, choice) in requests.choices.iter().enumerate() {
        let &Choice::Sole(first) = choice else {
            let found = "requests are chosen by a rule";
            return Err(SpecError::new("sequence", found, "leave it out"));
        };
        let own = spec.targets.get(target).map(|target| target.mix.as_slice());
        let mix = own.filter(|mix| !mix.is_empty()).unwrap_or(&spec.mix);
        let mut names = Names::default();
        for (index, request) in mix.iter().enumerate() {
            let asked = &requests.all[found.steps.len()];
            let refuse =
                |found: String, remedy: String| refuse(spec, index, request, found, remedy);
            let next = first + ((index + 1) % mix.len()) as ExchangeId;
            let made = step(spec, request, asked, compose, &mut names, &refuse);
            let file = spec.mix_file.as_deref();
            let (exchange, takes) = made.map_err(|error| located(error, file, asked.line))?;
            found.exchanges.push(exchange);
            found.steps.push(Step { takes, next });
        }
        for step in &mut found.steps[first as usize..] {
            let used = |take: Take| {
                let used = names.used(take.value);
                take.used(used)
            };
            step.takes = step.takes.drain(..).map(used).collect();
        }
        found.values = found.values.max(names.count());
    }
    Ok(found)
}

/// One request of a sequence, and the values to take from its answer; earlier requests take the
/// values of `names`.
fn step<R>(
    spec: &Spec,
    request: &RequestSpec,
    asked: &Asked,
    compose: Compose<R>,
    names: &mut Names,
    refuse: Refuse<'_>,
) -> Result<(Exchange<R>, Vec<Take>), SpecError> {
    let written = request.body.as_ref().or(spec.body.as_ref());
    let payload = asked.body.as_deref().map(|body| match written {
        Some(Body::Text(_) | Body::File { .. }) => Payload::Template(body),
        // Arbitrary bytes may have the beginning of a value by chance.
        _ => Payload::Bytes(body),
    });
    let Asked {
        target,
        method,
        headers,
        expect,
        ..
    } = asked;
    let composed = compose(target, method, headers, payload, names, refuse)?;
    let takes = request.take.iter().map(|(name, text)| {
        let place = Place::parse(text).filter(|_| is_name(name));
        let place = place.ok_or_else(|| {
            let remedy = format!(
                "write \"NAME\": \"PLACE\", a name of letters, digits, -, _ and ., and one of {}",
                place::ALL
            );
            refuse(format!("take {{{name:?}: {text:?}}}"), remedy)
        })?;
        Ok(Take::new(names.add(name), name, place, text))
    });
    let takes: Vec<Take> = takes.collect::<Result<_, SpecError>>()?;
    let bodiless = method == Method::HEAD;
    if bodiless && takes.iter().any(Take::needs_body) {
        let remedy = "take from the head, or send GET";
        return Err(refuse(
            "the answer to HEAD has no body".into(),
            remedy.into(),
        ));
    }
    let cookies = spec.sequence.is_some_and(|sequence| sequence.cookies);
    let jar = Wants {
        head: cookies,
        body: false,
    };
    let wants = takes.iter().fold(jar, |wants, take| wants.or(take.wants()));
    let exchange = Exchange {
        request: composed,
        bodiless,
        grpc: false,
        expect: Expectation {
            wants,
            ..expect.clone()
        },
    };
    Ok((exchange, takes))
}

/// The error of what is found in a request, with its place.
fn refuse(
    spec: &Spec,
    index: usize,
    request: &RequestSpec,
    found: impl std::fmt::Display,
    remedy: impl std::fmt::Display,
) -> SpecError {
    match (&spec.mix_file, request.line) {
        (Some(file), Some(line)) => SpecError::new(
            "mix_file",
            format!("{}:{line}: {found}", file.display()),
            remedy,
        ),
        _ => SpecError::new("mix", format!("request {}: {found}", index + 1), remedy),
    }
}
