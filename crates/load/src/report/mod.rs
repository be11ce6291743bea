//! The reports of a run: the result, the events of the instrument protocol, the view for people.

pub mod conditions;
mod counted;
pub mod csv;
pub mod events;
pub mod hdr_log;
pub mod header;
pub mod hints;
pub mod judgement;
pub mod kept;
mod listener;
pub mod live;
pub mod metrics;
pub mod outcomes;
pub mod paint;
pub mod replay;
pub mod result;
mod rounds;
pub mod schedule;
pub mod second;
pub mod shape;
pub mod summary;
mod threads;
pub mod times;
pub mod verdict;

use std::io;

use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};

/// Passes progress on to several observers, one after the other.
#[derive(Default)]
pub struct All(pub Vec<Box<dyn Observer>>);

impl Observer for All {
    fn described(&mut self, text: &str) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|each| each.described(text))
    }

    fn ready(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|each| each.ready())
    }

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
