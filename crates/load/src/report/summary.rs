//! The summary of a run for people.

use std::fmt::{self, Display, Write as _};

use super::outcomes::Outcomes;
use super::result::Result;
use crate::time::format_us;

/// Most reasons of errors that are shown.
const REASONS: usize = 8;

/// A distribution that is shown: its title, its name in outcomes, and its meaning.
type Distribution = (&'static str, &'static str, &'static str);

/// Those of an open loop.
const OPEN: [Distribution; 4] = [
    (
        "latency",
        "latency",
        "from the intended send to the last byte",
    ),
    ("service time", "service", "from the actual send"),
    ("ttfb", "ttfb", "from the actual send to the first byte"),
    ("send lag", "send_lag", "how late the generator itself sent"),
];

/// Those of a closed loop, which intends no other send than the actual one.
const CLOSED: [Distribution; 2] = [
    ("latency", "latency", "from the send to the last byte"),
    ("ttfb", "ttfb", "from the send to the first byte"),
];

/// Those of connections.
const CONNECTIONS: [Distribution; 2] = [
    ("connect", "connect", "the transport, whole run"),
    ("handshake", "handshake", "whole run"),
];

/// The columns: their titles, and their names in outcomes.
const COLUMNS: [(&str, &str); 9] = [
    ("mean", "mean"),
    ("p50", "p50"),
    ("p75", "p75"),
    ("p90", "p90"),
    ("p95", "p95"),
    ("p99", "p99"),
    ("p99.9", "p999"),
    ("p99.99", "p9999"),
    ("max", "max"),
];

/// A compact summary of `result`.
pub fn summary(result: &Result) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, result);
    text
}

fn write(text: &mut String, result: &Result) -> fmt::Result {
    let outcome = |name: &str| result.outcomes.get(name).copied().flatten();
    let figure = |name: &str| outcome(name).unwrap_or_default();
    let load = &result.load;
    for sample in &result.samples {
        writeln!(text, "\nan answer:\n{}", Plain(sample))?;
    }
    writeln!(
        text,
        "\n{:.0} requests in {:.2} s: {:.0} req/s, {:.2} MB/s",
        figure("requests"),
        result.window_s,
        figure("requests_per_second"),
        figure("bytes_per_second") / 1e6,
    )?;
    write!(text, "{:<13}", "")?;
    for (column, _) in COLUMNS {
        write!(text, "{column:>11}")?;
    }
    writeln!(text)?;
    let of_requests = match load.arrivals {
        Some(_) => &OPEN[..],
        None => &CLOSED,
    };
    for (title, name, about) in of_requests.iter().chain(&CONNECTIONS) {
        row(text, title, &result.outcomes, name, about)?;
    }
    for target in &result.targets {
        let rate = target
            .outcomes
            .get("requests_per_second")
            .copied()
            .flatten();
        let about = format!("{} ({:.0} req/s)", target.url, rate.unwrap_or(0.0));
        row(text, "latency", &target.outcomes, "latency", &about)?;
    }
    if load.unfinished > 0 {
        let (unfinished, offered) = (load.unfinished, load.offered);
        writeln!(
            text,
            "unfinished    {unfinished} of {offered} requests have no answer"
        )?;
    }
    let errors = &result.total.errors;
    let kinds = errors.0.iter().filter(|(_, count)| **count > 0);
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    let kinds = if kinds.is_empty() {
        String::new()
    } else {
        format!(" ({}), warm-up included", kinds.join(", "))
    };
    writeln!(text, "errors        {}{kinds}", errors.sum())?;
    let (kept, new) = (result.total.lost_kept, result.total.lost_new);
    if kept + new > 0 {
        writeln!(
            text,
            "{:>14}of them {kept} with a kept connection and {new} with a new one, before a byte came",
            ""
        )?;
    }
    for reason in result.total.reasons.iter().take(REASONS) {
        writeln!(
            text,
            "{:>14}{} × {}: {}",
            "", reason.count, reason.kind, reason.why
        )?;
    }
    let statuses = result.total.statuses.iter();
    let statuses: Vec<String> = statuses
        .map(|(status, count)| format!("{status}: {count}"))
        .collect();
    writeln!(text, "statuses      {}", statuses.join(", "))?;
    if let Some(ratio) = outcome("hit_ratio") {
        writeln!(text, "cache         {:.2} % hits", ratio * 100.0)?;
    }
    if let Some(replay) = &result.replay {
        writeln!(text, "replay        {replay}")?;
    }
    if let Some(ramp) = &result.ramp {
        writeln!(text, "ramp          {ramp}")?;
    }
    if let Some(threads) = &result.thread_seconds {
        writeln!(text, "threads       {threads}")?;
    }
    if let Some(tls) = &result.tls {
        writeln!(text, "TLS           {tls}")?;
    }
    if let Some(trust) = &result.certificates {
        writeln!(text, "certificates  {trust}")?;
    }
    for judgement in &result.conditions {
        writeln!(text, "condition     {judgement}")?;
    }
    let cpu_s = load.cpu_user_s + load.cpu_system_s;
    let per_request = outcome("requests").filter(|requests| *requests > 0.0);
    let cpu = Time(per_request.map(|requests| cpu_s * 1e6 / requests));
    writeln!(
        text,
        "client CPU    {cpu} a request, {:.0} % of its busiest thread; {:.1} in flight on average",
        load.cpu_busiest_thread * 100.0,
        load.in_flight_mean,
    )
}

/// One distribution, unless it is empty.
fn row(text: &mut String, title: &str, of: &Outcomes, name: &str, about: &str) -> fmt::Result {
    let time = |column: &str| of.get(&format!("{name}_{column}_us")).copied().flatten();
    if time("max").is_none() {
        return Ok(());
    }
    write!(text, "{title:<13}")?;
    for (_, column) in COLUMNS {
        write!(text, "{:>11}", Time(time(column)))?;
    }
    writeln!(text, "   {about}")
}

/// A server's text without the control characters by which it could change the terminal.
struct Plain<'a>(&'a str);

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .chars()
            .filter(|c| *c != '\r')
            .try_for_each(|c| match c {
                '\n' | '\t' => f.write_char(c),
                c if c.is_control() => write!(f, "{}", c.escape_default()),
                c => f.write_char(c),
            })
    }
}

/// A time in microseconds, formatted for people.
struct Time(Option<f64>);

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.map_or("-".into(), format_us);
        f.pad(&text)
    }
}
