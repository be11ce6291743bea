//! The progress of a run for people: a line that changes, or one line per second.
//!
//! The last second is seldom whole, so that its rate would mislead; the summary follows at once.

use std::collections::VecDeque;
use std::io::{self, Write};

use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};
use crate::time::format_us;

/// Seconds that the sparkline shows.
const SPARKS: usize = 20;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Writes a line a second.
#[derive(Debug)]
pub struct Lines<W>(pub W);

/// Writes one line again and again, for a terminal.
#[derive(Debug)]
pub struct Live<W: Write> {
    to: W,
    rates: VecDeque<u64>,
}

impl<W: Write> Live<W> {
    /// Write to a terminal.
    pub fn new(to: W) -> Self {
        Live {
            to,
            rates: VecDeque::new(),
        }
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

/// The rates as bars, the highest of them at full height.
fn sparks(rates: impl Iterator<Item = u64> + Clone) -> String {
    let most = rates.clone().max().unwrap_or(0).max(1);
    let bar = |rate: u64| BARS[(rate * (BARS.len() as u64 - 1)).div_ceil(most) as usize];
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
        self.rates.push_back(second.latency.len());
        if self.rates.len() > SPARKS {
            self.rates.pop_front();
        }
        let sparks = sparks(self.rates.iter().copied());
        // Go back to the line's beginning, write without going on to a second line, and clear the rest.
        write!(
            self.to,
            "\r\x1b[?7l{}   {sparks}\x1b[K\x1b[?7h",
            line(second, phase)
        )?;
        self.to.flush()
    }

    fn measure(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }

    fn measured(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for Live<W> {
    fn drop(&mut self) {
        if self.rates.is_empty() {
            return;
        }
        // The terminal may have gone.
        let _ = writeln!(self.to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_rates() {
        assert_eq!(sparks([0, 1, 4, 7].into_iter()), "▁▂▅█");
        assert_eq!(sparks([0, 0].into_iter()), "▁▁");
    }

    #[test]
    fn a_terminal_s_line_is_written_over() {
        let mut text = Vec::new();
        let mut live = Live::new(&mut text);
        let mut second = Second::default();
        for _ in 0..2 {
            second.record(1_500_000);
            let ended = second.turn(3, Default::default());
            live.second(&ended, Phase::Measure).unwrap();
        }
        drop(live);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.matches('\r').count(), 2);
        assert!(
            text.contains("   2 s  measure         1 req/s   p50   1.50 ms"),
            "{text}"
        );
        assert!(text.ends_with("██\u{1b}[K\u{1b}[?7h\n"), "{text}");
    }
}
