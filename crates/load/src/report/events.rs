//! The events of the instrument protocol: one JSON object a line.

use std::io::{self, Write};

use serde::Serialize;

use super::result::Result;
use super::second::Figures;
use super::verdict::StepVerdict;
use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    Ready,
    Progress(Figures),
    Measure { t_s: f64 },
    Measured { t_s: f64 },
}

/// The result of one of several rates.
#[derive(Serialize)]
struct OfStep<'a> {
    #[serde(flatten)]
    result: &'a Result,
    step: &'a StepVerdict,
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

    /// Write the result of one of several rates, with the verdict on it.
    ///
    /// # Errors
    /// When the output is closed.
    pub fn step(&mut self, result: &Result, step: &StepVerdict) -> io::Result<()> {
        self.line(&OfStep { result, step })
    }

    fn line(&mut self, event: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.flush()
    }
}

impl<W: Write> Observer for Events<W> {
    fn ready(&mut self) -> io::Result<()> {
        self.line(&Event::Ready)
    }

    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        self.line(&Event::Progress(Figures::of(second, phase)))
    }

    fn measure(&mut self, t_s: f64) -> io::Result<()> {
        self.line(&Event::Measure { t_s })
    }

    fn measured(&mut self, t_s: f64) -> io::Result<()> {
        self.line(&Event::Measured { t_s })
    }
}
