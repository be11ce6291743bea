//! One open-loop rate after the other, to show how latency grows with load and where the knee is.

use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use crate::engine::Observer;
use crate::plan::can_send;
use crate::report::conditions::Condition;
use crate::report::result::Result as Report;
use crate::report::schedule::{answered_per_second, backlog};
use crate::report::verdict::{StepVerdict, complaints};
use crate::run::{Error, run};
use crate::spec::{Pace, Spec, SpecError, Spread, Wait};
use crate::time::{format_rate, format_us};

/// Most steps that one run may have.
const MOST: f64 = 1000.0;

/// Rates from the first to the last, by a fixed step: `FROM:TO:BY`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    from: f64,
    to: f64,
    by: f64,
}

impl FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<f64>, _> = text.split(':').map(str::parse).collect();
        let numbers = numbers.map_err(|why| format!("{why}; write FROM:TO:BY"))?;
        let [from, to, by] = numbers[..] else {
            return Err("write FROM:TO:BY, as in 1000:20000:1000".into());
        };
        let all = [from, to, by].iter().all(|number| number.is_finite());
        if !(all && from > 0.0 && to >= from && by > 0.0) {
            return Err("write FROM above 0, TO not below it, and a step above 0".into());
        }
        match (to - from) / by < MOST {
            true => Ok(Steps { from, to, by }),
            false => Err(format!("more than {MOST} steps; write a larger BY")),
        }
    }
}

impl Steps {
    fn rates(self) -> impl Iterator<Item = f64> {
        // Rounding must not add a step.
        let count = ((self.to - self.from) / self.by + 1e-9).floor() as u32;
        let exact = move |step| self.from + f64::from(step) * self.by;
        // So that 0.3 is written as such.
        (0..=count).map(move |step| (exact(step) * 1e6).round() / 1e6)
    }
}

/// One rate, and its result.
pub struct Step {
    /// The verdict on the rate.
    pub verdict: StepVerdict,
    /// The result of the run at that rate.
    pub report: Report,
}

/// Run `spec` at each of the rates, each with connections of its own. A set `interrupt` cuts the step
/// under way, which is the last then.
///
/// # Errors
/// As [`run`].
pub fn trace(
    spec: &Spec,
    steps: Steps,
    arrivals: Spread,
    wait: Wait,
    conditions: &[Condition],
    mut observer: impl FnMut(&Spec) -> Box<dyn Observer>,
    interrupt: &AtomicBool,
) -> Result<Vec<Step>, Error> {
    if let Some(highest) = steps.rates().last() {
        // Refused by itself, the last step would take the others' results with it.
        can_send(highest, spec.threads).map_err(|found| {
            let remedy = "write a lower TO, or take more threads";
            SpecError::new("steps", found, remedy)
        })?;
    }
    let mut traced = Vec::new();
    for rate in steps.rates() {
        let pace = Pace::Open {
            rate,
            arrivals,
            wait,
        };
        let spec = Spec {
            pace,
            ..spec.clone()
        };
        let mut report = run(&spec, &mut *observer(&spec), interrupt)?;
        let judge = |condition: &Condition| condition.judge(&report);
        report.conditions = conditions.iter().map(judge).collect();
        let stopped = report.stopped_early;
        let why: Vec<String> = match stopped {
            true => vec!["a signal stopped it early".into()],
            false => {
                let backlog = backlog(&report);
                complaints(&report, conditions)
                    .into_iter()
                    .chain(backlog)
                    .collect()
            }
        };
        let held = why.is_empty();
        let verdict = StepVerdict { rate, held, why };
        traced.push(Step { verdict, report });
        if stopped {
            break;
        }
    }
    Ok(traced)
}

/// The highest rate up to which every step held.
pub fn knee(steps: &[Step]) -> Option<f64> {
    highest(steps.iter().map(outcome))
}

/// The rate of a step, and whether it held.
fn outcome(step: &Step) -> (f64, bool) {
    (step.verdict.rate, step.verdict.held)
}

fn highest(mut held: impl Iterator<Item = (f64, bool)>) -> Option<f64> {
    let mut found = None;
    while let Some((rate, true)) = held.next() {
        found = Some(rate);
    }
    found
}

/// A line about the knee, given each rate and whether it held.
fn conclusion(held: &[(f64, bool)]) -> String {
    match highest(held.iter().copied()) {
        Some(rate) => format!("highest rate that held, as all below it: {rate}/s\n"),
        None if held.iter().any(|(_, held)| *held) => {
            "no highest rate: the lowest one did not hold, and one above it did\n".into()
        }
        None => "no rate held\n".into(),
    }
}

/// Return why steps did not hold, a sentence for each reason.
pub fn reasons(steps: &[Step]) -> Vec<String> {
    let whole = steps.iter().filter(|step| !step.report.stopped_early);
    let each = |step: &Step| {
        let StepVerdict { rate, why, .. } = &step.verdict;
        let sentence = |why: &String| format!("{rate}/s did not hold: {why}");
        why.iter().map(sentence).collect::<Vec<_>>()
    };
    whole.flat_map(each).collect()
}

/// The steps as a table, and below it why some did not hold, and the knee.
pub fn table(steps: &[Step]) -> String {
    let columns = [
        "answered/s",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "lag p99",
        "errors",
    ];
    let mut text = format!("{:>10}", "rate/s");
    columns.iter().for_each(|name| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{name:>12}");
    });
    text.push('\n');
    for step in steps {
        let report = &step.report;
        let figure = |name: &str| report.outcomes.get(name).copied().flatten();
        let shown = |name: &str| figure(name).map_or("-".into(), format_us);
        let _ = write!(text, "{:>10}", step.verdict.rate);
        let _ = write!(text, "{:>12}", format_rate(answered_per_second(report)));
        for name in ["p50", "p90", "p99", "p999", "max"] {
            let _ = write!(text, "{:>12}", shown(&format!("latency_{name}_us")));
        }
        let _ = write!(
            text,
            "{:>12}{:>12}",
            shown("send_lag_p99_us"),
            report.failures()
        );
        text.push_str(match step {
            step if step.verdict.held => "\n",
            step if step.report.stopped_early => "   stopped early\n",
            _ => "   did not hold\n",
        });
    }
    for why in reasons(steps) {
        let _ = writeln!(text, "{why}");
    }
    let held: Vec<_> = steps.iter().map(outcome).collect();
    text += &conclusion(&held);
    if let Some(trust) = steps.first().and_then(|step| step.report.certificates) {
        text += &format!("certificates {trust}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_reach_their_end() {
        let rates = |text: &str| -> Vec<f64> { text.parse::<Steps>().unwrap().rates().collect() };
        assert_eq!(rates("1000:3000:1000"), [1000.0, 2000.0, 3000.0]);
        assert_eq!(rates("1:2:0.3").len(), 4);
        assert_eq!(rates("0.1:0.3:0.1"), [0.1, 0.2, 0.3]);
        assert_eq!(rates("5:5:1"), [5.0]);
    }

    #[test]
    fn a_rate_that_held_above_one_that_did_not_is_not_forgotten() {
        let last = |held: &[bool]| {
            let rates = (1..).map(f64::from);
            conclusion(&rates.zip(held.iter().copied()).collect::<Vec<_>>())
        };
        assert!(last(&[true, true, false, true]).ends_with(": 2/s\n"));
        assert_eq!(last(&[false, false]), "no rate held\n");
        assert!(last(&[false, true]).starts_with("no highest rate: the lowest one did not hold"));
    }

    #[test]
    fn what_are_no_steps_says_so() {
        for bad in ["", "1:2", "2:1:1", "0:5:1", "1:5:0", "1:5:x", "1:1000000:1"] {
            assert!(bad.parse::<Steps>().is_err(), "{bad}");
        }
    }
}
