//! The events of the instrument protocol: one JSON object a line.

use std::io::{self, Write};

use serde::Serialize;

use super::result::Result;
use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    Progress {
        t_s: f64,
        phase: &'static str,
        rate: u64,
        in_flight: u64,
        errors: u64,
        p50_us: Option<f64>,
        p99_us: Option<f64>,
    },
    Measure {
        t_s: f64,
    },
    Measured {
        t_s: f64,
    },
}

/// Writes events as they happen.
#[derive(Debug)]
pub struct Events<W>(pub W);

impl<W: Write> Events<W> {
    /// Write the last line.
    ///
    /// # Errors
    /// When the output is closed.
    pub fn result(&mut self, result: &Result) -> io::Result<()> {
        self.line(result)
    }

    fn line(&mut self, event: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.flush()
    }
}

impl<W: Write> Observer for Events<W> {
    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        let latency = &second.latency;
        let quantile = |q| (!latency.is_empty()).then(|| latency.value_at_quantile(q) as f64 / 1e3);
        self.line(&Event::Progress {
            t_s: second.end() as f64 / 1e9,
            phase: phase.name(),
            rate: latency.len(),
            in_flight: second.in_flight,
            errors: second.failures.sum(),
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
        })
    }

    fn measure(&mut self, t_s: f64) -> io::Result<()> {
        self.line(&Event::Measure { t_s })
    }

    fn measured(&mut self, t_s: f64) -> io::Result<()> {
        self.line(&Event::Measured { t_s })
    }
}
