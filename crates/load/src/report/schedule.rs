//! Checks that the generator kept the schedule of an open loop.

use super::counted::counted;
use super::result::Result as Report;
use crate::time::{format_rate, format_us};

/// Largest share of a printed latency that the generator's own lateness may be.
const MOST: f64 = 0.5;

/// Smallest share of the offered requests that is answered in the window without a remark.
const ANSWERED: f64 = 0.99;

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

/// A sentence about an open loop whose answers, in the window, were fewer than its requests.
pub fn shortfall(report: &Report) -> Option<String> {
    let load = &report.load;
    let few = (load.answered as f64) < ANSWERED * load.offered as f64;
    if !few || load.arrivals.is_none() {
        return None;
    }
    let failed = load
        .offered
        .saturating_sub(load.completed + load.unfinished);
    let parts = [
        (failed, "failed"),
        (load.unfinished, "had no answer when the run ended"),
        (
            load.completed.saturating_sub(load.answered),
            "or more were answered after the window",
        ),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    // A window that ends with its requests is longer than they were due for.
    let (due, answered) = match load.requests.is_some() {
        true => (counted(load.offered as f64), load.answered.to_string()),
        false => (
            format!(
                "{} requests/s",
                format_rate(per_second(report, load.offered))
            ),
            format!("{}/s", format_rate(answered_per_second(report))),
        ),
    };
    Some(format!(
        "{due} were due by the clock, {answered} were answered correctly in the window: {}",
        parts.join(", "),
    ))
}

/// A sentence about a fixed number of requests for which the window was too short.
pub fn unmade(report: &Report) -> Option<String> {
    let load = &report.load;
    let all = load.requests.filter(|all| load.offered < *all)?;
    let made = load.offered;
    let end = match load.arrivals {
        Some("log") => "the log or --duration",
        _ => "--duration",
    };
    load.timed_out
        .then(|| format!("{made} of {all} were made before {end} ended"))
}

/// Largest share of the offered requests that may be left over when the window closes, if each waits on
/// a connection.
const WAITING: f64 = 0.1;

/// A sentence about an open loop in which requests queued up: more were left over when the window closed
/// than a server that keeps up has under way.
pub fn backlog(report: &Report) -> Option<String> {
    let load = &report.load;
    let left = (load.completed + load.unfinished).saturating_sub(load.answered) as f64;
    let offered = load.offered as f64;
    let under_way = (load.connections as f64).min(WAITING * offered);
    let queued = load.arrivals.is_some() && left > under_way.max((1.0 - ANSWERED) * offered);
    queued.then(|| {
        format!(
            "{} requests/s were due by the clock, only {}/s were answered in the window",
            format_rate(per_second(report, load.offered)),
            format_rate(answered_per_second(report)),
        )
    })
}

/// Correct answers per second that came within the window.
pub fn answered_per_second(report: &Report) -> f64 {
    per_second(report, report.load.answered)
}

fn per_second(report: &Report, count: u64) -> f64 {
    count as f64 / report.window_s.max(f64::MIN_POSITIVE)
}
