//! Remedies for failures that are common. Each is a question, or true whatever the failure's cause.

use super::result::{Reason, Result as Report, Total};
use crate::spec::Spec;
use crate::target::Target;
use crate::time::format_us;

/// Statuses that a remedy names at most.
const STATUSES: usize = 3;

/// Reasons of failures that have a remedy of their own.
mod why {
    pub const REFUSED: &str = "connection refused";
    pub const NO_SOCKET: &str = "no such socket";
    pub const NOT_TLS: &str = "the server's handshake is not TLS";
    pub const NO_TLS: &str = "no TLS handshake in time";
    pub const CERTIFICATE: &str = "the server's certificate";
}

/// The remedies for what failed in `report`, a run of `spec`; `chosen` is true if the expected
/// statuses are not the default ones.
pub fn hints(report: &Report, spec: &Spec, chosen: bool) -> Vec<String> {
    let mut hints = Vec::new();
    let single = report.url.iter().map(|url| (url, &report.total));
    let several = report
        .targets
        .iter()
        .map(|target| (&target.url, &target.total));
    for (url, total) in single.chain(several) {
        hints.extend(connection(url, total, spec));
    }
    hints.extend(statuses(report, spec, chosen));
    hints.extend(timeouts(&report.total, spec));
    hints.extend(value(report));
    hints
}

/// Remedies for a target that never answered.
fn connection(url: &str, total: &Total, spec: &Spec) -> Vec<String> {
    let failed = |test: fn(&Reason) -> bool| total.reasons.iter().any(test);
    let Ok(target) = Target::parse(url) else {
        return Vec::new();
    };
    if total.requests > 0 {
        return Vec::new();
    }
    let mut hints = Vec::new();
    if failed(|reason| [why::REFUSED, why::NO_SOCKET].contains(&reason.why)) {
        let place = target.place(&spec.connect_to);
        hints.push(format!("is anything listening on {place}?"));
    }
    if failed(|reason| [why::NOT_TLS, why::NO_TLS].contains(&reason.why)) {
        hints.push(format!(
            "does {} speak TLS? Without it the URL begins with http://",
            target.place(&spec.connect_to)
        ));
    }
    if failed(|reason| reason.why.starts_with(why::CERTIFICATE)) {
        hints.push("--roots FILE verifies certificates by other roots, -k accepts any".into());
    }
    hints
}

/// A remedy for answers whose status was not expected.
fn statuses(report: &Report, spec: &Spec, chosen: bool) -> Option<String> {
    let total = &report.total;
    let expected = &spec.expect.status;
    let http = ["h1", "h2", "h3"].contains(&report.protocol.as_str());
    // Requests of a file or a log have expectations of their own.
    let own = spec.replay.is_some() || spec.mix_file.is_some();
    let seen = |status: &usize| expected.iter().any(|each| usize::from(*each) == *status);
    let right = total.statuses.keys().any(seen);
    if !http || own || (chosen && right) {
        return None;
    }
    let mut strange: Vec<_> = total
        .statuses
        .iter()
        .filter(|(status, _)| !seen(status))
        .collect();
    strange.sort_by_key(|(status, count)| (std::cmp::Reverse(**count), **status));
    if strange.is_empty() {
        return None;
    }
    let names: Vec<String> = strange
        .iter()
        .take(STATUSES)
        .map(|(status, _)| status.to_string())
        .collect();
    let found = names.join(",");
    let wanted = match right {
        true => format!("{},{found}", join(expected)),
        false => found.clone(),
    };
    let moved = match strange
        .iter()
        .all(|(status, _)| (300..400).contains(*status))
    {
        true => " (redirects are not followed)",
        false => "",
    };
    Some(format!(
        "{found}{moved}: give --expect-status {wanted} if {} meant",
        if names.len() == 1 {
            "it is"
        } else {
            "they are"
        }
    ))
}

fn join(statuses: &[u16]) -> String {
    let all: Vec<String> = statuses.iter().map(u16::to_string).collect();
    all.join(",")
}

/// A remedy for answers without a value.
fn value(report: &Report) -> Option<String> {
    let mut reasons = report.total.reasons.iter();
    let options = match report.protocol.as_str() {
        "h1" => "--show 1",
        _ => "-p h1 --show 1",
    };
    reasons.any(|reason| reason.kind == "value").then(|| {
        format!("{options} prints an answer, in which the place of a value can be looked up")
    })
}

/// Remedies for answers that took too long.
fn timeouts(total: &Total, spec: &Spec) -> Vec<String> {
    let ttfb_s = spec.ttfb_timeout_s.unwrap_or(spec.timeout_s);
    let limits = [
        ("timeout", "an answer", spec.timeout_s, "--timeout"),
        ("ttfb_timeout", "its first byte", ttfb_s, "--ttfb-timeout"),
    ];
    let late = |kind: &str| total.reasons.iter().any(|reason| reason.kind == kind);
    let hint = |(_, what, limit_s, option)| {
        let limit = format_us(limit_s * 1e6);
        format!("{what} may take {limit}: {option} TIME allows more")
    };
    let exceeded = limits.into_iter().filter(|(kind, ..)| late(kind));
    exceeded.map(hint).collect()
}
