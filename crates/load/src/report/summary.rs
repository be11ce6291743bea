//! The summary of a run for people.

use std::fmt::{self, Display, Write as _};

use super::counted::counted;
use super::paint::Paint;
use super::result::{Result, TargetReport};
use super::schedule;
use super::shape::{Row, rows};
use crate::time::{format_rate, format_us};

/// Most reasons of errors that are shown.
const REASONS: usize = 8;

/// Columns behind a label.
const WIDTH: usize = 66;

/// Longest bar of the histogram, in characters.
const BAR: f64 = 38.0;

/// A distribution that is shown: its title, its name in outcomes, and its meaning.
type Distribution = (&'static str, &'static str, &'static str);

/// Those of an open loop.
const OPEN: [Distribution; 4] = [
    (
        "latency",
        "latency",
        "from the intended send to the last byte",
    ),
    (
        "service",
        "service",
        "from the actual send to the last byte",
    ),
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
    (
        "connect",
        "connect",
        "until the transport is connected, whole run",
    ),
    ("handshake", "handshake", "from then on, whole run"),
];

/// The rows below the deviation: their titles, and their names in outcomes.
const QUANTILES: [(&str, &str); 8] = [
    ("p50", "p50"),
    ("p75", "p75"),
    ("p90", "p90"),
    ("p95", "p95"),
    ("p99", "p99"),
    ("p99.9", "p999"),
    ("p99.99", "p9999"),
    ("max", "max"),
];

/// A compact summary of `result`, with colours if `paint` has any, and `hints` behind the errors.
pub fn summary(result: &Result, hints: &[String], paint: Paint) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, result, hints, paint);
    text
}

fn write(text: &mut String, result: &Result, hints: &[String], paint: Paint) -> fmt::Result {
    let outcome = |name: &str| result.outcomes.get(name).copied().flatten();
    let figure = |name: &str| outcome(name).unwrap_or_default();
    let load = &result.load;
    for sample in &result.samples {
        writeln!(text, "\nan answer:\n{}", Plain(sample))?;
    }
    let stopped = match result.stopped_early {
        true => ", stopped early",
        false => "",
    };
    let shortfall = schedule::shortfall(result);
    let window = seconds(result.window_s);
    // With a shortfall the outcomes count answers that came after the window.
    let rates = match shortfall {
        Some(_) => format!(
            "{} due in {window}{stopped}: {} answered/s in the window",
            counted(load.offered as f64),
            format_rate(schedule::answered_per_second(result)),
        ),
        None => format!(
            "{} in {window}{stopped}: {} req/s, {:.2} MB/s",
            counted(figure("requests")),
            format_rate(figure("requests_per_second")),
            figure("bytes_per_second") / 1e6,
        ),
    };
    writeln!(text, "\n{}", paint.bold(&rates))?;
    if let Some(shortfall) = shortfall {
        writeln!(text, "offered       {}", paint.warn(&wrapped(&shortfall)))?;
    }
    distributions(text, result)?;
    histogram(text, &rows(&result.latency), paint)?;
    result
        .targets
        .iter()
        .try_for_each(|each| target(text, each, result.window_s))?;
    if load.unfinished > 0 {
        let (unfinished, offered) = (load.unfinished, load.offered);
        writeln!(
            text,
            "unfinished    {unfinished} of {offered} requests have no answer"
        )?;
    }
    if let Some(unmade) = schedule::unmade(result) {
        writeln!(text, "requests      {}", paint.warn(&unmade))?;
    }
    errors(text, result, paint)?;
    for hint in hints {
        writeln!(text, "{:>14}{}", "", paint.warn(hint))?;
    }
    let statuses = result.total.statuses.iter();
    let statuses: Vec<String> = statuses
        .map(|(status, count)| format!("{status}: {count}"))
        .collect();
    if !statuses.is_empty() {
        let in_window = result.statuses.values().sum();
        let more = beyond(result.total.requests, in_window);
        writeln!(text, "statuses      {}{more}", statuses.join(", "))?;
    }
    if result.times_dropped > 0 {
        let dropped = result.times_dropped;
        writeln!(
            text,
            "times         of {dropped} answers found no room in the file"
        )?;
    }
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
    for judgement in &result.conditions {
        writeln!(text, "condition     {judgement}")?;
    }
    let cpu_s = load.cpu_user_s + load.cpu_system_s;
    let cpu = Time((load.came > 0).then(|| cpu_s * 1e6 / load.came as f64));
    writeln!(
        text,
        "client CPU    {cpu} a request, {:.0} % of its busiest thread; {:.1} in flight on average",
        load.cpu_busiest_thread * 100.0,
        load.in_flight_mean,
    )
}

/// The length of a window: seconds, or less where these would be 0.00.
fn seconds(window_s: f64) -> String {
    match window_s < 0.1 && window_s > 0.0 {
        true => format_us(window_s * 1e6),
        false => format!("{window_s:.2} s"),
    }
}

/// A remark on a number of the whole run that is more than that of the window.
fn beyond(all: u64, in_window: u64) -> &'static str {
    if all > in_window {
        ", of the whole run"
    } else {
        ""
    }
}

/// A sentence in lines that fit a terminal of 80 columns behind a label.
fn wrapped(sentence: &str) -> String {
    let mut text = String::new();
    let mut length = 0;
    for word in sentence.split(' ') {
        let more = word.chars().count() + 1;
        if length > 0 && length + more > WIDTH {
            text += &format!("\n{:>14}", "");
            length = 0;
        } else if length > 0 {
            text.push(' ');
        }
        text += word;
        length += more;
    }
    text
}

/// The distributions side by side, as far as they have values.
fn distributions(text: &mut String, result: &Result) -> fmt::Result {
    let of_requests = match result.load.arrivals {
        Some(_) => &OPEN[..],
        None => &CLOSED,
    };
    let time = |name: &str, row: &str| {
        let found = result.outcomes.get(&format!("{name}_{row}_us"));
        found.copied().flatten()
    };
    let shown: Vec<Distribution> = of_requests
        .iter()
        .chain(&CONNECTIONS)
        .filter(|(_, name, _)| time(name, "max").is_some())
        .copied()
        .collect();
    if shown.is_empty() {
        return Ok(());
    }
    let mut line = |title: &str, cell: &dyn Fn(Distribution) -> String| {
        write!(text, "{title:<8}")?;
        shown
            .iter()
            .try_for_each(|each| write!(text, "{:>12}", cell(*each)))?;
        writeln!(text)
    };
    line("", &|(title, _, _)| title.into())?;
    line("mean", &|(_, name, _)| Time(time(name, "mean")).to_string())?;
    let deviation = |name: &str| result.deviations.get(name);
    line("stdev", &|(_, name, _)| {
        Time(deviation(name).map(|found| found.us)).to_string()
    })?;
    line("± stdev", &|(_, name, _)| {
        deviation(name).map_or("-".into(), |found| format!("{:.1} %", found.within * 100.0))
    })?;
    // Small samples name no far quantile.
    let named = |row: &str| shown.iter().any(|(_, name, _)| time(name, row).is_some());
    for (title, row) in QUANTILES.iter().filter(|(_, row)| named(row)) {
        line(title, &|(_, name, _)| Time(time(name, row)).to_string())?;
    }
    writeln!(text)?;
    shown
        .iter()
        .try_for_each(|(title, _, about)| writeln!(text, "{title:<14}{about}"))
}

/// The histogram of latencies, a row a line.
pub(super) fn histogram(text: &mut String, rows: &[Row], paint: Paint) -> fmt::Result {
    let most = rows.iter().map(|row| row.count).max().unwrap_or(0).max(1);
    if !rows.is_empty() {
        writeln!(text, "\nlatency up to      answers")?;
    }
    for row in rows {
        let length = (row.count as f64 / most as f64 * BAR).ceil() as usize;
        let bar = paint.bar(&"■".repeat(length));
        let line = format!("{:>13}{:>13}  {bar}", Time(Some(row.to_us)), row.count);
        writeln!(text, "{}", line.trim_end())?;
    }
    writeln!(text)
}

/// One of several targets, in a window of this length.
fn target(text: &mut String, target: &TargetReport, window_s: f64) -> fmt::Result {
    let figure = |name: &str| target.outcomes.get(name).copied().flatten();
    let time = |name: &str| Time(figure(&format!("latency_{name}_us"))).to_string();
    writeln!(
        text,
        "{}\n{:>14}{} req/s, latency p50 {}, p99 {}, max {}",
        target.url,
        "",
        // Not those that came after the window.
        format_rate(target.answered as f64 / window_s.max(f64::MIN_POSITIVE)),
        time("p50"),
        time("p99"),
        time("max"),
    )
}

/// The failures of the whole run, and their reasons.
fn errors(text: &mut String, result: &Result, paint: Paint) -> fmt::Result {
    let errors = &result.total.errors;
    let kinds = errors.0.iter().filter(|(_, count)| **count > 0);
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if kinds.is_empty() {
        return writeln!(text, "errors        0");
    }
    let more = beyond(errors.sum(), result.errors.sum());
    let counted = format!("{} ({}){more}", errors.sum(), kinds.join(", "));
    writeln!(text, "errors        {}", paint.warn(&counted))?;
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
    Ok(())
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
pub(super) struct Time(pub Option<f64>);

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.map_or("-".into(), format_us);
        f.pad(&text)
    }
}
