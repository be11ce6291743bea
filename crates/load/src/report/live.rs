//! The progress of a run for people: figures that are drawn anew each second on a terminal, one line per
//! second elsewhere.
//!
//! The last second is seldom whole, so that its rate would mislead; the summary follows at once.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write};

use hdrhistogram::Histogram;

use super::paint::Paint;
use super::shape::rows;
use super::summary::{Time, histogram};
use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};
use crate::protocol::Kind;
use crate::spec::Spec;
use crate::time::{format_rate, format_us};

/// Seconds that the sparkline shows.
const SPARKS: usize = 40;

const SPARK: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Characters of the bar of what is done.
const BAR: f64 = 44.0;

/// Writes a line a second.
#[derive(Debug)]
pub struct Lines<W>(pub W);

/// Draws the figures of now, and of the window so far, over the ones before.
#[derive(Debug)]
pub struct Live<W: Write> {
    to: W,
    /// Lines of the terminal.
    height: usize,
    paint: Paint,
    extent: Extent,
    rates: VecDeque<u64>,
    /// Latencies of the seconds that lie in the window, or most of each, in nanoseconds.
    window: Histogram<u64>,
    window_s: u64,
    /// Requests that had failed before the window.
    failed_before: u64,
    /// Lines that are drawn.
    drawn: usize,
    /// The line that stays on the terminal.
    last: Option<String>,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Extent {
    Seconds(f64),
    Requests(u64),
    /// That of a log, whose length is not known yet.
    Log,
}

impl<W: Write> Live<W> {
    /// Write to a terminal of so many lines, while the run of `spec` lasts.
    pub fn new(to: W, height: usize, paint: Paint, spec: &Spec) -> Self {
        Live {
            to,
            height,
            paint,
            extent: match spec.requests {
                Some(requests) => Extent::Requests(requests),
                // What has neither is a log that is replayed once.
                None if spec.is_unbounded() => Extent::Log,
                None => Extent::Seconds(spec.warmup_s + spec.duration_s + spec.cooldown_s),
            },
            rates: VecDeque::new(),
            window: crate::engine::tally::histogram(),
            window_s: 0,
            failed_before: 0,
            drawn: 0,
            last: None,
        }
    }

    fn note(&mut self, second: &Second, phase: Phase) {
        self.rates.push_back(second.latency.len());
        if self.rates.len() > SPARKS {
            self.rates.pop_front();
        }
        match phase {
            Phase::Warmup => self.failed_before = failed_requests(second),
            Phase::Measure => {
                let same = self.window.add(&second.latency);
                same.expect("all histograms have the same bounds");
                self.window_s += 1;
            }
            Phase::Drain => {}
        }
    }

    /// The figures, in lines of at most 80 columns.
    fn panel(&self, second: &Second, phase: Phase) -> String {
        let seconds = second.index + 1;
        let (share, done) = match self.extent {
            Extent::Seconds(all) => (
                seconds as f64 / all,
                format!("{seconds} of {:.0} s", all.ceil()),
            ),
            Extent::Log => (0.0, format!("{seconds} s")),
            Extent::Requests(all) => {
                let failed = failed_requests(second) - self.failed_before;
                // An answer that no request asked for is a failure, too.
                let ended = all.min(self.window.len() + failed);
                let done = format!("{ended} of {all} requests, {seconds} s");
                (ended as f64 / all as f64, done)
            }
        };
        let full = (share.clamp(0.0, 1.0) * BAR).round() as usize;
        let mut text = format!(
            "{:<9}{}{}  {done}\n{:>22}",
            phase.name(),
            self.paint.bar(&"█".repeat(full)),
            "░".repeat(BAR as usize - full),
            "req/s",
        );
        for title in ["p50", "p90", "p99", "max"] {
            let _ = write!(text, "{title:>13}");
        }
        let sums = [
            ("now", &second.latency, 1),
            ("so far", &self.window, self.window_s),
        ];
        for (title, latency, seconds) in sums {
            let rate = match seconds > 1 {
                true => format_rate(latency.len() as f64 / seconds as f64),
                false => latency.len().to_string(),
            };
            let _ = write!(text, "\n{title:<9}{rate:>13}");
            for quantile in [0.5, 0.9, 0.99, 1.0] {
                let found = latency.value_at_quantile(quantile) as f64 / 1e3;
                let found = Time((!latency.is_empty()).then_some(found));
                let _ = write!(text, "{found:>13}");
            }
        }
        let (failed, sparks) = (second.failures.sum(), sparks(self.rates.iter().copied()));
        let errors = match format!("errors {failed}") {
            text if failed > 0 => self.paint.warn(&text),
            text => text,
        };
        let _ = writeln!(text, "\n{sparks}  in flight {}, {errors}", second.in_flight);
        let mut shape = String::new();
        let _ = histogram(&mut shape, &rows(&self.window), self.paint);
        // The cursor stands below the last line.
        if text.lines().count() + shape.lines().count() < self.height {
            text.push_str(&shape);
        }
        text
    }

    /// Go back to the first line that is drawn, and clear what is below.
    fn erase(&mut self) -> io::Result<()> {
        if self.drawn > 0 {
            write!(self.to, "\x1b[{}A\x1b[J", self.drawn)?;
        }
        self.drawn = 0;
        Ok(())
    }
}

fn line(second: &Second, phase: Phase) -> String {
    let latency = &second.latency;
    let quantile = |q| match latency.is_empty() {
        true => "-".into(),
        false => format_us(latency.value_at_quantile(q) as f64 / 1e3),
    };
    format!(
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

/// Requests that have failed up to the end of `second`.
fn failed_requests(second: &Second) -> u64 {
    let unconnected = [Kind::Connect, Kind::ConnectTimeout].map(|kind| second.failures.of(kind));
    second.failures.sum() - unconnected.iter().sum::<u64>()
}

/// The rates as bars, the highest of them at full height.
fn sparks(rates: impl Iterator<Item = u64> + Clone) -> String {
    let most = rates.clone().max().unwrap_or(0).max(1);
    let bar = |rate: u64| SPARK[(rate * (SPARK.len() as u64 - 1)).div_ceil(most) as usize];
    rates.map(bar).collect()
}

impl<W: Write> Observer for Lines<W> {
    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        if second.last {
            return Ok(());
        }
        writeln!(self.0, "{}", line(second, phase))
    }

    fn measure(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }

    fn measured(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Observer for Live<W> {
    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        if second.last {
            return Ok(());
        }
        self.note(second, phase);
        let panel = self.panel(second, phase);
        self.erase()?;
        // A line that is too long must not become two.
        write!(self.to, "\x1b[?7l{panel}\x1b[?7h")?;
        self.drawn = panel.lines().count();
        self.last = Some(line(second, phase));
        self.to.flush()
    }

    fn measure(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }

    fn measured(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
}

/// The summary says all that the figures did; one line stays, which tells steps from each other.
impl<W: Write> Drop for Live<W> {
    fn drop(&mut self) {
        let Some(last) = self.last.take() else {
            return;
        };
        // The terminal may have gone.
        let _ = self.erase();
        let _ = writeln!(self.to, "{last}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tally::Failures;
    use crate::protocol::Failure;

    fn seen(height: usize, spec: &str, seconds: &[(u64, Phase)]) -> String {
        seen_of(height, &Spec::from_json(spec).unwrap(), seconds)
    }

    fn seen_of(height: usize, spec: &Spec, seconds: &[(u64, Phase)]) -> String {
        let mut text = Vec::new();
        let mut live = Live::new(&mut text, height, Paint(false), spec);
        let mut second = Second::default();
        for (answers, phase) in seconds {
            (0..*answers).for_each(|_| second.record(1_500_000));
            let ended = second.turn(3, Default::default());
            live.second(&ended, *phase).unwrap();
        }
        drop(live);
        String::from_utf8(text).unwrap()
    }

    const TEN_S: &str = r#"{"url": "http://127.0.0.1:1/", "warmup_s": 1, "duration_s": 9}"#;

    #[test]
    fn bars_are_as_high_as_their_rates() {
        assert_eq!(sparks([0, 1, 4, 7].into_iter()), "▁▂▅█");
        assert_eq!(sparks([0, 0].into_iter()), "▁▁");
    }

    #[test]
    fn figures_are_written_over_and_one_line_stays() {
        let text = seen(50, TEN_S, &[(1, Phase::Warmup), (4, Phase::Measure)]);
        let (first, rest) = text.split_once("\x1b[6A\x1b[J").unwrap();
        assert!(first.contains("1 of 10 s\n"), "{first}");
        assert!(
            first.contains("so far               0            -"),
            "{first}"
        );
        assert!(rest.contains("2 of 10 s\n"), "{rest}");
        assert!(
            rest.contains("so far               4      1.50 ms"),
            "{rest}"
        );
        assert!(rest.contains("latency up to"), "{rest}");
        let (_, last) = rest.rsplit_once("A\x1b[J").unwrap();
        assert!(
            last.starts_with("   2 s  measure         4 req/s"),
            "{last}"
        );
        assert_eq!(last.lines().count(), 1);
    }

    #[test]
    fn as_many_lines_go_as_were_drawn() {
        let text = seen(
            50,
            TEN_S,
            &[(1, Phase::Warmup), (4, Phase::Measure), (4, Phase::Measure)],
        );
        let mut drawn = text.split("\x1b[").filter(|part| part.starts_with("?7l"));
        let mut gone = text
            .split("\x1b[")
            .filter_map(|part| part.strip_suffix('A')?.parse().ok());
        assert!(
            drawn
                .by_ref()
                .all(|part| gone.next() == Some(part.lines().count()))
        );
        assert_eq!((drawn.next(), gone.next()), (None, None));
    }

    #[test]
    fn a_low_terminal_has_no_histogram_and_no_line_is_too_long() {
        let text = seen(9, TEN_S, &[(4, Phase::Measure); 60]);
        assert!(!text.contains("latency up to"), "{text}");
        let (drawn, _) = text.rsplit_once("\x1b[J").unwrap();
        assert!(
            drawn
                .split(['\n', '\x1b'])
                .all(|line| line.chars().count() < 80),
            "{drawn}"
        );
    }

    #[test]
    fn a_run_of_so_many_requests_says_how_many_are_done() {
        let spec = r#"{"url": "http://127.0.0.1:1/", "warmup_s": 0, "requests": 8}"#;
        let text = seen(50, spec, &[(4, Phase::Measure)]);
        assert!(text.contains("░  4 of 8 requests, 1 s\n"), "{text}");
    }

    #[test]
    fn requests_that_failed_in_the_window_are_done_too() {
        let spec = Spec::from_json(r#"{"url": "http://127.0.0.1:1/", "requests": 8}"#).unwrap();
        let mut text = Vec::new();
        let mut live = Live::new(&mut text, 50, Paint(false), &spec);
        let (mut second, mut failures) = (Second::default(), Failures::default());
        for phase in [Phase::Warmup, Phase::Measure] {
            failures.add(Failure::connect("refused"));
            failures.add(Failure::read("closed"));
            live.second(&second.turn(0, failures.clone()), phase)
                .unwrap();
        }
        drop(live);
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("  1 of 8 requests, 2 s\n"), "{text}");
    }

    #[test]
    fn a_log_s_length_is_not_made_up() {
        let log = Spec::from_json(r#"{"replay": {"file": "log"}}"#).unwrap();
        let log = Spec {
            duration_s: crate::spec::default::UNBOUNDED_S,
            ..log
        };
        let text = seen_of(24, &log, &[(3, Phase::Measure)]);
        assert!(text.contains("░  1 s\n"), "{text}");
    }
}
