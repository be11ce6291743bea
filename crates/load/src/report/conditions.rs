//! Conditions that a run must meet, such as `p99<5ms`.

use std::str::FromStr;

use super::judgement::Judgement;
use super::outcomes::QUANTILES;
use super::result::Result as Report;
use super::schedule::answered_per_second;
use crate::time::seconds;

/// A condition on one figure of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    figure: Figure,
    relation: Relation,
    bound: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Figure {
    /// An outcome by its name, in microseconds.
    Time(String),
    /// Correct answers per second that came within the window.
    Rate,
    /// Failures of the whole run, and requests without an answer.
    Errors,
    /// The same as a share of all requests, failed connections among them.
    ErrorShare,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Longer signs first, since the shorter ones are their beginnings.
const RELATIONS: [(&str, Relation); 4] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("<", Relation::Below),
    (">", Relation::Above),
];

const DISTRIBUTIONS: [&str; 6] = [
    "latency",
    "service",
    "ttfb",
    "connect",
    "handshake",
    "send_lag",
];

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let compact: String = text.split_whitespace().collect();
        let split = RELATIONS.iter().find_map(|(sign, relation)| {
            let (figure, bound) = compact.split_once(sign)?;
            Some((figure, *relation, bound))
        });
        let (figure, relation, bound) =
            split.ok_or("write FIGURE<BOUND, with <, <=, > or >=, as in p99<5ms")?;
        let (figure, bound) = read(figure, bound)?;
        Ok(Condition {
            text: compact,
            figure,
            relation,
            bound,
        })
    }
}

fn read(figure: &str, bound: &str) -> Result<(Figure, f64), String> {
    let number = |text: &str| {
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        value.ok_or_else(|| format!("{text:?} is not a number"))
    };
    match (figure, bound.strip_suffix('%')) {
        ("rate", _) => Ok((Figure::Rate, number(bound)?)),
        ("errors", None) => Ok((Figure::Errors, number(bound)?)),
        ("errors", Some(percent)) => Ok((Figure::ErrorShare, number(percent)? / 100.0)),
        _ => {
            let bound_ns = (seconds(bound)? * 1e9).round();
            let bound = bound_ns / 1e3;
            Ok((Figure::Time(outcome(figure)?), bound))
        }
    }
}

/// The name of the outcome that a figure such as `p99`, `ttfb_p99` or `max` stands for.
fn outcome(figure: &str) -> Result<String, String> {
    let known = |name: &str| {
        let quantile = QUANTILES.iter().any(|(quantile, _)| *quantile == name);
        quantile || name == "mean" || name == "max"
    };
    let name = match figure.rsplit_once("p99.") {
        Some((before, digits @ ("9" | "99"))) => format!("{before}p99{digits}"),
        _ => figure.to_string(),
    };
    let (distribution, what) = match name.rsplit_once('_') {
        Some((distribution, what)) => (distribution, what),
        None => ("latency", name.as_str()),
    };
    if DISTRIBUTIONS.contains(&distribution) && known(what) {
        return Ok(format!("{distribution}_{what}_us"));
    }
    let quantiles = QUANTILES.map(|(name, _)| name).join(", ");
    Err(format!(
        "unknown figure {figure:?}; write rate, errors, mean, max, {quantiles}, or one of the times \
         with {} before it, as in ttfb_p99",
        DISTRIBUTIONS.map(|name| format!("{name}_")).join(", ")
    ))
}

impl Condition {
    /// Judge whether `report` meets the condition; it does not if the sample is too small for the
    /// figure.
    pub fn judge(&self, report: &Report) -> Judgement {
        let found = self.figure.of(report);
        let ok = found.is_some_and(|found| match self.relation {
            Relation::Below => found < self.bound,
            Relation::AtMost => found <= self.bound,
            Relation::Above => found > self.bound,
            Relation::AtLeast => found >= self.bound,
        });
        Judgement {
            condition: self.text.clone(),
            ok,
            found,
        }
    }

    /// Return true if the condition is about the number or the share of errors.
    pub fn is_about_errors(&self) -> bool {
        matches!(self.figure, Figure::Errors | Figure::ErrorShare)
    }
}

impl Figure {
    fn of(&self, report: &Report) -> Option<f64> {
        let outcome = |name: &str| report.outcomes.get(name).copied().flatten();
        let errors = report.failures() as f64;
        match self {
            Figure::Time(name) => outcome(name),
            // Those that came later say nothing of what was achieved.
            Figure::Rate => Some(answered_per_second(report)),
            Figure::Errors => Some(errors),
            Figure::ErrorShare => {
                let answered = report.total.correct as f64;
                Some(errors / (errors + answered).max(1.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Figure, Relation, f64) {
        let condition: Condition = text.parse().expect("a condition");
        (condition.figure, condition.relation, condition.bound)
    }

    #[test]
    fn conditions_are_read_as_they_are_written() {
        let time = |name: &str| Figure::Time(name.into());
        assert_eq!(
            read("p99<5ms"),
            (time("latency_p99_us"), Relation::Below, 5000.0)
        );
        assert_eq!(
            read("p99.9 <= 1s"),
            (time("latency_p999_us"), Relation::AtMost, 1e6)
        );
        assert_eq!(read("ttfb_p99.99<1s").0, time("ttfb_p9999_us"));
        assert_eq!(
            read("ttfb_max<200us"),
            (time("ttfb_max_us"), Relation::Below, 200.0)
        );
        assert_eq!(read("send_lag_p99<100us").0, time("send_lag_p99_us"));
        assert_eq!(
            read("rate>=1000"),
            (Figure::Rate, Relation::AtLeast, 1000.0)
        );
        assert_eq!(
            read("errors<1%"),
            (Figure::ErrorShare, Relation::Below, 0.01)
        );
        assert_eq!(read("errors<=0"), (Figure::Errors, Relation::AtMost, 0.0));
    }

    #[test]
    fn what_is_no_condition_says_so() {
        for bad in [
            "",
            "p99",
            "p42<5ms",
            "p9.9<5ms",
            "p9.99<5ms",
            "p.50<5ms",
            "p99.0<5ms",
            "p999.9<5ms",
            "p99<x",
            "latency<5ms",
            "bytes>1",
            "rate>fast",
            "rate>nan",
            "errors<inf",
            "errors<nan%",
            "p99=5ms",
        ] {
            assert!(bad.parse::<Condition>().is_err(), "{bad}");
        }
    }
}
