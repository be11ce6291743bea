//! The requests of sequences: the values that they take and use, checked before the load.

use http::Method;

use super::request_file::located;
use super::requests::{Asked, Requests};
use crate::engine::picks::Choice;
use crate::expectation::{Exchange, Expectation};
use crate::h1::users::{Sequences, Step};
use crate::h1::valued::{Payload, Valued};
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
            spec.protocol != "h1",
            format!("{} has no sequences of requests", spec.protocol),
            "take h1 (--protocol h1)",
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
            spec.depth > 1,
            format!("a user sends one request at a time, not {}", spec.depth),
            "leave out --depth",
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

/// The sequences that `spec` describes, of its `requests`.
///
/// # Errors
/// A [`SpecError`] that names the request which cannot be used.
pub fn sequences(spec: &Spec, requests: &Requests) -> Result<Sequences, SpecError> {
    let cookies = spec.sequence.is_some_and(|sequence| sequence.cookies);
    let mut found = Sequences {
        cookies,
        ..Sequences::default()
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
            let refuse = |found, remedy| refuse(spec, index, request, found, remedy);
            let next = first + ((index + 1) % mix.len()) as ExchangeId;
            let step = step(spec, request, asked, next, &mut names, refuse);
            let file = spec.mix_file.as_deref();
            found
                .steps
                .push(step.map_err(|error| located(error, file, asked.line))?);
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

/// One request of a sequence, whose earlier requests take the values of `names`.
fn step(
    spec: &Spec,
    request: &RequestSpec,
    asked: &Asked,
    next: ExchangeId,
    names: &mut Names,
    refuse: impl Fn(String, String) -> SpecError,
) -> Result<Step, SpecError> {
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
    let composed = Valued::compose(target, method, headers, payload, names, &refuse)?;
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
    Ok(Step {
        exchange: Exchange {
            request: composed,
            bodiless,
            grpc: false,
            expect: Expectation {
                wants,
                ..expect.clone()
            },
        },
        takes,
        next,
    })
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
