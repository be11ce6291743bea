//! The verdict on a run: all is well, or not.

use serde::Serialize;

use super::conditions::Condition;
use super::result::Result as Report;
use super::schedule;

/// The verdict on one of several rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepVerdict {
    /// Requested rate, per second.
    pub rate: f64,
    /// True if all was well, and it was not stopped early.
    pub held: bool,
    /// Reasons for not holding, a sentence each.
    pub why: Vec<String>,
}

/// Return true if `report` meets all `conditions`, its schedule was kept, something was answered and
/// nothing failed; where a condition is about errors, it decides about them alone.
pub fn is_well(report: &Report, conditions: &[Condition]) -> bool {
    complaints(report, conditions).is_empty()
}

/// Return why all is not well with `report`, a sentence for each reason.
pub fn complaints(report: &Report, conditions: &[Condition]) -> Vec<String> {
    let judged = conditions.iter().map(|condition| condition.judge(report));
    let mut found: Vec<String> = judged
        .filter(|judgement| !judgement.ok)
        .map(|judgement| judgement.to_string())
        .collect();
    found.extend(schedule::lateness(report));
    found.extend(silence(report));
    let errors_are_judged = conditions.iter().any(Condition::is_about_errors);
    if report.failures() > 0 && !errors_are_judged {
        found.push(format!("errors: {}", report.failures()));
    }
    found
}

/// A sentence about a run of which no answer was measured and in which nothing failed.
pub fn silence(report: &Report) -> Option<String> {
    let answered = report.outcomes.get("requests").copied().flatten();
    let any = answered.is_some_and(|requests| requests > 0.0);
    let silent = !any && report.failures() == 0;
    let outside = report.total.requests > 0;
    silent.then(|| match report.load.arrivals {
        // Those that were due and found no connection are failures.
        Some(_) if outside => "no request was due in the window: take a longer one".into(),
        None if outside => "no answer came within the window: take a longer one".into(),
        Some(_) => "no request was due: take a higher rate, or a longer time".into(),
        None => "no request was answered: no connection was ready in time".into(),
    })
}
