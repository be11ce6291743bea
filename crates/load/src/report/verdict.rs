//! The verdict on a run: all is well, or not.

use super::conditions::Condition;
use super::result::Result as Report;
use super::schedule;

/// Return true if `report` meets all `conditions`, its schedule was kept, and nothing failed; where
/// a condition is about errors, it decides about them alone.
pub fn is_well(report: &Report, conditions: &[Condition]) -> bool {
    let met = conditions
        .iter()
        .all(|condition| condition.judge(report).ok);
    let errors_are_judged = conditions.iter().any(Condition::is_about_errors);
    let failed = report.failures() > 0 && !errors_are_judged;
    met && schedule::lateness(report).is_empty() && !failed
}
