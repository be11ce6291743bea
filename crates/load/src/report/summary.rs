//! What people read: a line a second, and a summary.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use super::result::Result;
use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};

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
    let time = |name: &str| Time(outcome(name));
    let load = &result.load;
    writeln!(
        text,
        "\n{:.0} requests in {:.2} s: {:.0} req/s, {:.2} MB/s",
        figure("requests"),
        result.window_s,
        figure("requests_per_second"),
        figure("bytes_per_second") / 1e6,
    )?;
    writeln!(
        text,
        "{:>14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "", "mean", "p50", "p90", "p99", "p99.9", "max"
    )?;
    writeln!(
        text,
        "{:<14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}   from the intended send",
        "latency",
        time("latency_mean_us"),
        time("latency_p50_us"),
        time("latency_p90_us"),
        time("latency_p99_us"),
        time("latency_p999_us"),
        time("latency_max_us"),
    )?;
    writeln!(
        text,
        "{:<14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}   from the actual send",
        "service time",
        time("service_mean_us"),
        time("service_p50_us"),
        "",
        time("service_p99_us"),
        "",
        "",
    )?;
    if load.arrivals.is_some() {
        writeln!(
            text,
            "{:<14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}   {} of {} sent requests have no answer",
            "send lag",
            "",
            Time(load.send_lag_p50_us),
            "",
            Time(load.send_lag_p99_us),
            "",
            Time(load.send_lag_max_us),
            load.unfinished,
            load.offered,
        )?;
    }
    let errors = &result.total.errors;
    writeln!(
        text,
        "errors        {} (connect {}, read {}, write {}, status {}, body {}, timeout {}), warm-up included",
        errors.sum(),
        errors.connect,
        errors.read,
        errors.write,
        errors.status,
        errors.body,
        errors.timeout,
    )?;
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
