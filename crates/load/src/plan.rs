//! A spec, checked and turned into what the engine and the protocol work with.

use http::Method;

use crate::engine::{Load, cpu};
use crate::h1::{Exchange, request};
use crate::oracle::Expectation;
use crate::spec::{Expect, Pace, Spec, SpecError};
use crate::target::Target;

/// Longest time that a spec may ask for, in seconds: what a histogram can tell apart.
const LONGEST_S: f64 = 3600.0;

/// The load that `spec` asks for.
///
/// # Errors
/// A [`SpecError`] that names the field which cannot be used.
pub fn load(spec: &Spec) -> Result<Load, SpecError> {
    if spec.threads == 0 || spec.threads > spec.connections {
        let found = format!(
            "{} threads for {} connections",
            spec.threads, spec.connections
        );
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
    if let Pace::Open { rate, .. } = spec.pace {
        positive("loop.rate", rate)?;
    }
    if let Some(ramp) = spec.ramp_per_s {
        positive("ramp_per_s", ramp)?;
    }
    positive("duration_s", spec.duration_s)?;
    positive("timeout_s", spec.timeout_s)?;
    Ok(Load {
        connections: spec.connections,
        threads: spec.threads,
        cpus,
        pace: spec.pace,
        warmup: nanoseconds("warmup_s", spec.warmup_s)?,
        duration: nanoseconds("duration_s", spec.duration_s)?,
        cooldown: nanoseconds("cooldown_s", spec.cooldown_s)?,
        timeout: nanoseconds("timeout_s", spec.timeout_s)?,
        ramp_per_s: spec.ramp_per_s,
        seed: spec.seed,
    })
}

/// The HTTP/1.1 exchange that `spec` asks for, its target resolved.
///
/// # Errors
/// A [`SpecError`] that names the field which cannot be used.
pub fn h1(spec: &Spec) -> Result<Exchange, SpecError> {
    let target = Target::parse(&spec.url)?;
    let method: Method = spec.method.parse().map_err(|_| {
        SpecError::new(
            "method",
            format!("{:?} is no HTTP method", spec.method),
            "write it as GET",
        )
    })?;
    Ok(Exchange {
        address: target.resolve()?,
        request: request::compose(&target, &method, &spec.headers, spec.body.as_deref())?,
        method,
        expect: expectation(&spec.expect)?,
    })
}

fn expectation(expect: &Expect) -> Result<Expectation, SpecError> {
    if expect.status.is_empty() {
        let remedy = "name at least one";
        return Err(SpecError::new(
            "expect.status",
            "no status is expected",
            remedy,
        ));
    }
    if let Some(status) = expect
        .status
        .iter()
        .find(|status| !(100..1000).contains(*status))
    {
        let found = format!("{status} is no status");
        return Err(SpecError::new(
            "expect.status",
            found,
            "statuses have three digits",
        ));
    }
    let body_sha256 = expect.body_sha256.as_deref().map(|text| {
        digest(text).ok_or_else(|| {
            let found = format!("{text:?} is no SHA-256");
            SpecError::new("expect.body_sha256", found, "write 64 hexadecimal digits")
        })
    });
    Ok(Expectation {
        statuses: expect.status.clone(),
        body_length: expect.body_length,
        body_sha256: body_sha256.transpose()?,
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

fn positive(field: &str, value: f64) -> Result<(), SpecError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(SpecError::new(
        field,
        format!("{value} is not above 0"),
        "write a positive number",
    ))
}

fn nanoseconds(field: &str, seconds: f64) -> Result<u64, SpecError> {
    if !(0.0..=LONGEST_S).contains(&seconds) {
        let remedy = format!("write seconds from 0 to {LONGEST_S}");
        return Err(SpecError::new(
            field,
            format!("{seconds} is out of range"),
            remedy,
        ));
    }
    Ok((seconds * 1e9).round() as u64)
}
