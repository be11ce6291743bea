//! The slices of a duel: targets take turns.

use serde::Deserialize;

/// Slices in which one target alone gets the load, in random order within each round.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSpec {
    /// Milliseconds of a slice, without its drain.
    pub length_ms: f64,
    /// Milliseconds at its beginning whose requests are not measured.
    #[serde(default)]
    pub lead_in_ms: f64,
    /// Microseconds that the generator may be away from its sockets before a round is dropped.
    #[serde(default = "gap_us")]
    pub gap_us: f64,
}

fn gap_us() -> f64 {
    100.0
}
