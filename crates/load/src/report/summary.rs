//! What people read: a line a second, and a summary.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use super::result::Result;
use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};

/// Most reasons of errors that are told.
const REASONS: usize = 8;

/// Writes a line a second.
#[derive(Debug)]
pub struct Lines<W>(pub W);

impl<W: Write> Observer for Lines<W> {
    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        let latency = &second.latency;
        let quantile =
            |q| Time((!latency.is_empty()).then(|| latency.value_at_quantile(q) as f64 / 1e3));
        writeln!(
            self.0,
            "{:>4} s  {:<8}{:>9} req/s   p50 {:>9}   p99 {:>9}   in flight {:>5}   errors {}",
            second.index + 1,
            phase.name(),
            latency.len(),
            quantile(0.5),
            quantile(0.99),
            second.in_flight,
            second.failures.sum(),
        )
    }

    fn measure(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }

    fn measured(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
}

/// The distributions that are shown: title, name, and what they are of.
const DISTRIBUTIONS: [(&str, &str, &str); 6] = [
    (
        "latency",
        "latency",
        "from the intended send to the last byte",
    ),
    ("service time", "service", "from the actual send"),
    ("delay", "delay", "from the actual send to the first byte"),
    ("connect", "connect", "the transport, whole run"),
    ("handshake", "handshake", "whole run"),
    ("send lag", "send_lag", "how late the generator itself sent"),
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
    writeln!(
        text,
        "\n{:.0} requests in {:.2} s: {:.0} req/s, {:.2} MB/s",
        figure("requests"),
        result.window_s,
        figure("requests_per_second"),
        figure("bytes_per_second") / 1e6,
    )?;
    let header = ["mean", "p50", "p75", "p90", "p99", "p99.9", "p99.99", "max"];
    write!(text, "{:<13}", "")?;
    header
        .iter()
        .try_for_each(|name| write!(text, "{name:>11}"))?;
    writeln!(text)?;
    for (title, name, about) in DISTRIBUTIONS {
        let columns = ["mean", "p50", "p75", "p90", "p99", "p999", "p9999", "max"];
        let time = |column: &str| outcome(&format!("{name}_{column}_us"));
        if time("max").is_none() || (name == "service" && load.arrivals.is_none()) {
            continue;
        }
        write!(text, "{title:<13}")?;
        columns
            .iter()
            .try_for_each(|column| write!(text, "{:>11}", Time(time(column))))?;
        writeln!(text, "   {about}")?;
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

/// A time in microseconds, as people read it.
struct Time(Option<f64>);

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            None => "-".into(),
            Some(us) if us < 1e3 => format!("{us:.2} µs"),
            Some(us) if us < 1e6 => format!("{:.2} ms", us / 1e3),
            Some(us) => format!("{:.3} s", us / 1e6),
        };
        f.pad(&text)
    }
}
