//! Checks a spec, and makes the load and the requests that it describes.

pub mod asking;
pub mod fits;
pub mod mix;
mod rates;
pub mod replay;
pub mod request_file;
pub mod requests;
pub mod sequence;
mod slices;
mod sources;
pub mod targets;
mod values;

use std::sync::Arc;

use base64::Engine as _;

pub use self::values::can_send;
use self::values::{FOREVER, can_make, nanoseconds, positive};
use crate::engine::picks::Choice;
use crate::engine::{Load, Timeouts, cpu};
use crate::expectation::Expectation;
use crate::random;
use crate::sequence::capture::Wants;
use crate::spec::default::message_size;
use crate::spec::{Body, Expect, KeySpec, Pace, Spec, SpecError};

/// Most requests in flight on a connection: each takes memory as soon as there is room for it.
const DEEPEST: usize = 100_000;

/// The load that `spec` describes; `choices` has one for each of its targets.
///
/// # Errors
/// A [`SpecError`] that names the field which cannot be used.
pub fn load(spec: &Spec, choices: Vec<Choice>) -> Result<Load, SpecError> {
    let targets = targets::shares(spec)?;
    let connections = targets.iter().map(|share| share.connections).sum();
    if spec.threads == 0 {
        let remedy = "write how many send requests";
        return Err(SpecError::new("threads", "0 threads", remedy));
    }
    if spec.threads > connections {
        let found = format!("{} threads for {connections} connections", spec.threads);
        return Err(SpecError::new(
            "threads",
            found,
            "each thread needs a connection, so take fewer",
        ));
    }
    let cpus = spec.cpus.clone().unwrap_or_default();
    if let Some(cpu) = cpus.iter().find(|cpu| !cpu::is_allowed(**cpu)) {
        let found = format!("this process may not run on CPU {cpu}");
        return Err(SpecError::new(
            "cpus",
            found,
            "choose among those of its cgroup and affinity",
        ));
    }
    check_pace(spec)?;
    if spec.times_file.is_some() && spec.slices.is_some() {
        let remedy = "leave out either: what lies between slices is no answer's time";
        return Err(SpecError::new(
            "times_file",
            "targets take turns in slices",
            remedy,
        ));
    }
    if let Some(ramp) = spec.ramp_per_s {
        positive("ramp_per_s", ramp)?;
    }
    if spec.depth == 0 {
        let remedy = "write how many requests are in flight on a connection";
        return Err(SpecError::new("depth", "0 requests", remedy));
    }
    if spec.depth > DEEPEST {
        let found = format!("{} requests in flight on each connection", spec.depth);
        let remedy = format!("write at most {DEEPEST}");
        return Err(SpecError::new("depth", found, remedy));
    }
    let counts = [
        ("requests", spec.requests),
        ("requests_per_connection", spec.requests_per_connection),
    ];
    if let Some((field, _)) = counts.iter().find(|(_, count)| *count == Some(0)) {
        let remedy = "write how many, or leave it out";
        return Err(SpecError::new(field, "0 requests", remedy));
    }
    let duration = match spec.is_unbounded() {
        true => FOREVER,
        false => {
            positive("duration_s", spec.duration_s)?;
            nanoseconds("duration_s", spec.duration_s)?
        }
    };
    let timeout = |field, value: Option<f64>| {
        let value = value.unwrap_or(spec.timeout_s);
        positive(field, value)?;
        nanoseconds(field, value)
    };
    // First, as the others are the same if they are not given.
    let answer = timeout("timeout_s", None)?;
    if let Some(ttfb) = spec.ttfb_timeout_s.filter(|ttfb| *ttfb > spec.timeout_s) {
        let found = format!("{ttfb} s, and a whole answer has {} s", spec.timeout_s);
        let remedy = "write at most that, or more for --timeout (in a spec, `timeout_s`)";
        return Err(SpecError::new("ttfb_timeout_s", found, remedy));
    }
    let (rates, mean) = rates::rates(spec)?.unzip();
    let pace = match (spec.pace, mean) {
        (Pace::Open { arrivals, wait, .. }, Some(rate)) => Pace::Open {
            rate,
            arrivals,
            wait,
        },
        (pace, _) => pace,
    };
    Ok(Load {
        targets,
        rates: rates.map(Arc::new),
        choices,
        log: None,
        threads: spec.threads,
        cpus,
        pace,
        think: spec.think,
        slices: slices::slices(spec)?,
        accounts: slices::accounts(spec)?,
        requests: spec.requests,
        warmup: nanoseconds("warmup_s", spec.warmup_s)?,
        duration,
        cooldown: nanoseconds("cooldown_s", spec.cooldown_s)?,
        timeouts: Timeouts {
            connect: timeout("connect_timeout_s", spec.connect_timeout_s)?,
            ttfb: timeout("ttfb_timeout_s", spec.ttfb_timeout_s)?,
            answer,
            silence: u64::MAX,
        },
        requests_per_connection: spec.requests_per_connection,
        ramp_per_s: spec.ramp_per_s,
        keeps_times: spec.times_file.is_some(),
        seed: spec.seed,
    })
}

fn check_pace(spec: &Spec) -> Result<(), SpecError> {
    let refuse = |field, found, remedy| Err(SpecError::new(field, found, remedy));
    match spec.pace {
        Pace::Open { rate, .. } => {
            positive("loop.rate", rate)?;
            can_send(rate, spec.threads).or_else(|found| {
                let remedy = "write a lower rate, or take more threads";
                refuse("loop.rate", found, remedy)
            })?;
        }
        Pace::Closed { limit } | Pace::Serial { limit } => {
            limit.map_or(Ok(()), |limit| positive("loop.limit", limit))?;
        }
    }
    if matches!(spec.pace, Pace::Serial { .. }) && spec.threads != 1 {
        let found = format!("{} threads for one request at a time", spec.threads);
        return refuse("threads", found, "take one");
    }
    if matches!(spec.pace, Pace::Serial { .. }) && spec.depth > 1 {
        let found = format!("{} requests at a time in a serial loop", spec.depth);
        return refuse("depth", found, "leave it out");
    }
    if let Some(think) = spec.think {
        if matches!(spec.pace, Pace::Open { .. }) {
            let found = "an open loop sends by the clock".to_string();
            return refuse("think", found, "take a closed loop");
        }
        if spec.depth > 1 {
            let found = format!(
                "{} requests at a time beside a pause between them",
                spec.depth
            );
            return refuse("depth", found, "take one, or leave out think");
        }
        if !think.is_valid() {
            let found = format!("{think:?} is not a distribution of times");
            return refuse(
                "think",
                found,
                "write seconds from 0 to 3600, the smaller first",
            );
        }
    }
    let own = spec.targets.iter().filter_map(|target| target.keys);
    spec.keys
        .into_iter()
        .chain(own)
        .try_for_each(KeySpec::check)
}

/// The bytes of a body; arbitrary ones are made from `seed`.
///
/// # Errors
/// A [`SpecError`] when they cannot be read.
pub fn body(body: Option<&Body>, seed: u64) -> Result<Option<Vec<u8>>, SpecError> {
    let Some(body) = body else {
        return Ok(None);
    };
    Ok(Some(match body {
        Body::Text(text) => text.clone().into_bytes(),
        Body::Base64 { base64 } => {
            let digits = base64::engine::general_purpose::STANDARD.decode(base64);
            digits.map_err(|why| SpecError::new("body.base64", why, "write base64 digits"))?
        }
        Body::Size { size } => {
            can_make(*size)?;
            random::bytes(seed, *size)
        }
        Body::File { file } => std::fs::read(file).map_err(|why| {
            let found = format!("{} cannot be read ({why})", file.display());
            SpecError::new("body.file", found, "name a readable file")
        })?,
    }))
}

/// The size of the message to be echoed: the spec's body.
///
/// # Errors
/// A [`SpecError`] when it is not a size above 0.
pub fn size_of_message(spec: &Spec) -> Result<usize, SpecError> {
    let remedy = "write --size BYTES (in a spec, {\"size\": BYTES}): it is made from the seed";
    match spec.body {
        None => Ok(message_size()),
        Some(Body::Size { size }) if size > 0 => can_make(size).map(|()| size),
        Some(_) => Err(SpecError::new("body", "not a size above 0", remedy)),
    }
}

/// The expectation that `expect` describes; of calls of gRPC, codes stand beside HTTP's statuses.
///
/// # Errors
/// A [`SpecError`] that names the field which cannot be used.
pub fn expectation(expect: &Expect, protocol: &str) -> Result<Expectation, SpecError> {
    let allowed = if protocol == "grpc" {
        1..1000
    } else {
        100..1000
    };
    if expect.status.is_empty() {
        let remedy = "name at least one";
        return Err(SpecError::new("expect.status", "no status", remedy));
    }
    if let Some(status) = expect
        .status
        .iter()
        .find(|status| !allowed.contains(*status))
    {
        let found = format!("{status} is not a status");
        return Err(SpecError::new(
            "expect.status",
            found,
            "statuses have three digits",
        ));
    }
    let body_sha256 = expect.body_sha256.as_deref().map(|text| {
        digest(text).ok_or_else(|| {
            let found = format!("{text:?} is not a SHA-256");
            SpecError::new("expect.body_sha256", found, "write 64 hexadecimal digits")
        })
    });
    Ok(Expectation {
        statuses: expect.status.clone(),
        body_length: expect.body_length,
        body_sha256: body_sha256.transpose()?,
        keeper: None,
        wants: Wants::default(),
    })
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| Some(digit.to_digit(16)? as u8))
        .collect();
    let bytes: Vec<u8> = digits?
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect();
    (text.len() == 64).then_some(())?;
    bytes.try_into().ok()
}
