//! What is told of a run: the result, the events of the instrument protocol, the view for people.

pub mod conditions;
pub mod events;
pub mod hdr_log;
pub mod live;
pub mod result;
pub mod schedule;
pub mod summary;

use std::io;

use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};

/// A time in microseconds, as people read it.
pub fn time(us: f64) -> String {
    if us < 1e3 {
        format!("{us:.2} µs")
    } else if us < 1e6 {
        format!("{:.2} ms", us / 1e3)
    } else {
        format!("{:.3} s", us / 1e6)
    }
}

/// Tells several observers, one after the other.
#[derive(Default)]
pub struct All(pub Vec<Box<dyn Observer>>);

impl Observer for All {
    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        self.0
            .iter_mut()
            .try_for_each(|each| each.second(second, phase))
    }

    fn measure(&mut self, t_s: f64) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|each| each.measure(t_s))
    }

    fn measured(&mut self, t_s: f64) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|each| each.measured(t_s))
    }
}
