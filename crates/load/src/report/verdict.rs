//! The verdict on a run: all is well, or not.

use super::conditions::Condition;
use super::result::Result as Report;
use super::schedule;

/// Return true if `report` meets all `conditions`, its schedule was kept, and nothing failed; where
/// a condition is about errors, it decides about them alone.
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
    let errors_are_judged = conditions.iter().any(Condition::is_about_errors);
    if report.failures() > 0 && !errors_are_judged {
        found.push(format!("errors: {}", report.failures()));
    }
    found
}
