//! Asking: each request is sent once, and its answer is kept whole.

use super::requests::{Asked, Requests};
use crate::answers::Keeper;
use crate::engine::Load;
use crate::engine::picks::Choice;
use crate::protocol::ExchangeId;
use crate::spec::{Pace, ReplaySpec, Spec, SpecError};

/// Most requests that are asked: all their answers are kept in memory.
const MOST: usize = 1000;

/// The spec that asks what `spec` would send: one request after the other on one connection, at no
/// times of their own.
///
/// # Errors
/// A [`SpecError`] for several targets.
pub fn spec(spec: &Spec) -> Result<Spec, SpecError> {
    if !spec.targets.is_empty() {
        return Err(SpecError::new("ask", "several targets", "write one url"));
    }
    Ok(Spec {
        connections: 1,
        depth: 1,
        threads: 1,
        requests_per_connection: None,
        pace: Pace::CLOSED,
        profile: None,
        think: None,
        slices: None,
        warmup_s: 0.0,
        cooldown_s: 0.0,
        ramp_per_s: None,
        replay: spec.replay.clone().map(|replay| ReplaySpec {
            repeat: false,
            ..replay
        }),
        ..spec.clone()
    })
}

/// Keep the answers to `requests`, and let `load` send each of them once, until the server is silent for
/// as long as one answer may take.
///
/// # Errors
/// A [`SpecError`] for more requests than can be asked and kept.
pub fn apply(requests: &mut Requests, load: &mut Load) -> Result<(), SpecError> {
    let count = requests.all.len();
    if count > MOST {
        let found = format!("{count} different requests");
        let remedy = format!("write at most {MOST}");
        return Err(SpecError::new("ask", found, remedy));
    }
    for asked in &mut requests.all {
        asked.expect.keeper = Some(Keeper::default());
    }
    load.choices = vec![Choice::Turns((0..count as ExchangeId).collect())];
    load.requests = Some(count as u64);
    load.timeouts.silence = load.timeouts.answer;
    Ok(())
}

/// A request as answers name it: its method and path.
pub fn name(asked: &Asked) -> String {
    format!("{} {}", asked.method, asked.target.path)
}
