//! Checks that the generator kept the schedule of an open loop.

use super::result::Result as Report;
use crate::time::format_us;

/// Largest share of a printed latency that the generator's own lateness may be.
const MOST: f64 = 0.5;

/// Smallest share of the offered requests that must be answered.
const ANSWERED: f64 = 0.99;

/// The ways in which an open loop missed its schedule, one sentence each.
pub fn complaints(report: &Report) -> Vec<String> {
    let mut complaints = lateness(report);
    complaints.extend(overload(report));
    complaints
}

/// The ways in which the generator itself was late, one sentence each.
pub fn lateness(report: &Report) -> Vec<String> {
    let load = &report.load;
    if load.arrivals.is_none() {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (name, lag) in [("p50", load.send_lag_p50_us), ("p99", load.send_lag_p99_us)] {
        let latency = report.outcomes.get(&format!("latency_{name}_us"));
        let (Some(lag), Some(latency)) = (lag, latency.copied().flatten()) else {
            continue;
        };
        if lag > MOST * latency {
            complaints.push(format!(
                "the generator itself was late by {} at {name}, more than half of the latency of \
                 {}: give it a CPU of its own (--cpus), more threads, or a lower --rate",
                format_us(lag),
                format_us(latency),
            ));
        }
    }
    complaints
}

/// A sentence about an open loop with requests that the server did not get to.
fn overload(report: &Report) -> Option<String> {
    let load = &report.load;
    let few = (load.completed as f64) < ANSWERED * load.offered as f64;
    (few && load.arrivals.is_some()).then(|| {
        format!(
            "{} of {} requests were answered correctly: the rate may be more than the server, or \
             this machine, can do",
            load.completed, load.offered,
        )
    })
}
