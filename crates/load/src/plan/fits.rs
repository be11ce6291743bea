//! Checks that a protocol has a place for what is asked of it: nothing is left out in silence.

use super::request_file::located;
use super::size_of_message;
use crate::spec::{Order, Spec, SpecError};

/// The status that a message counts as which came back.
const ECHOED: u16 = 200;

/// Refuse the fields of `spec` that have no meaning in its protocol.
///
/// # Errors
/// A [`SpecError`] that names the field.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    let protocol = spec.protocol.as_str();
    let bare = matches!(protocol, "echo" | "proto");
    let without_headers = bare || protocol == "ws";
    let method = spec.method.as_str();
    let other_method = match protocol {
        "echo" | "proto" | "ws" => method != "GET",
        "grpc" => !is_call(method),
        _ => false,
    };
    let targets = spec.targets.iter();
    let keyed = spec.keys.is_some() || targets.clone().any(|target| target.keys.is_some());
    let given = [
        ("headers", bare && !spec.headers.is_empty()),
        ("method", other_method),
        (
            "cache_header",
            without_headers && spec.cache_header.is_some(),
        ),
        ("keys", bare && keyed),
        ("congestion", protocol == "h3" && spec.congestion.is_some()),
    ];
    let mixed = is_mixed(spec);
    if protocol == "ws" && mixed {
        let found = "requests for ws, which sends messages";
        return Err(SpecError::new(
            "mix",
            found,
            "take h1, h2 or h3, or leave it out",
        ));
    }
    let own = spec.targets.iter().flat_map(|target| &target.mix);
    for request in spec.mix.iter().chain(own).filter(|_| protocol == "grpc") {
        if let Some(method) = request.method.as_deref().filter(|method| !is_call(method)) {
            let found = format!("{method} for grpc, whose calls are POST");
            let error = SpecError::new("method", found, "leave it out");
            return Err(located(error, spec.mix_file.as_deref(), request.line));
        }
    }
    if protocol == "proto" && !spec.expect.status.contains(&ECHOED) {
        let found = format!("an answer of proto counts as {ECHOED}");
        return Err(SpecError::new("expect.status", found, "leave it out"));
    }
    if spec.mix_order != Order::default() && !mixed && spec.replay.is_none() {
        let found = "there is one request alone";
        return Err(SpecError::new("mix_order", found, "leave it out"));
    }
    if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
        let found = format!("{protocol} has none to choose");
        return Err(SpecError::new(field, found, "leave it out"));
    }
    match protocol {
        "echo" | "ws" => echo(spec),
        _ => Ok(()),
    }
}

/// Return true if a call of gRPC is sent for `method`: what is not chosen stands for the only one.
fn is_call(method: &str) -> bool {
    matches!(method, "GET" | "POST")
}

/// Return true if the spec has requests beside those to its URLs.
fn is_mixed(spec: &Spec) -> bool {
    !spec.mix.is_empty() || spec.targets.iter().any(|each| !each.mix.is_empty())
}

/// Refuse to expect anything of a message but that it comes back.
fn echo(spec: &Spec) -> Result<(), SpecError> {
    let size = size_of_message(spec)?;
    let own = spec
        .targets
        .iter()
        .filter_map(|target| target.expect.as_ref());
    for expect in own.chain([&spec.expect]) {
        let length = expect.body_length.unwrap_or(size as u64);
        let wrong = [
            ("expect.status", !expect.status.contains(&ECHOED)),
            ("expect.body_length", length != size as u64),
            ("expect.body_sha256", expect.body_sha256.is_some()),
        ];
        if let Some((field, _)) = wrong.into_iter().find(|(_, wrong)| *wrong) {
            let found = format!("only the same {size} bytes are right, and count as {ECHOED}");
            return Err(SpecError::new(field, found, "leave it out"));
        }
    }
    Ok(())
}
