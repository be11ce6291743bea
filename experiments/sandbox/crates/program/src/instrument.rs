//! The part that the daemon's own instruments share (docs/FORMAT.md, "The instrument protocol").

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::{Action, Load, LoadOptions};

/// The name under which instruments load binaries.
pub const NAME: &str = "loaded";

/// The instrument's spec.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    schema: u32,
    /// The daemon's.
    pub socket: PathBuf,
    /// The binary to load.
    pub binary: PathBuf,
    /// With so many workers.
    pub workers: u32,
    /// Seconds before the window.
    pub warmup_s: f64,
    /// Seconds of the window.
    pub duration_s: f64,
}

impl Spec {
    /// Read a spec; exit with code 2 and the fault if it is unusable.
    pub fn read(file: &Path) -> Spec {
        Self::parse(file).unwrap_or_else(|why| {
            eprintln!("tare-sandbox: {why:#}");
            std::process::exit(2);
        })
    }

    fn parse(file: &Path) -> Result<Spec> {
        let name = || file.display().to_string();
        let text = fs::read(file).with_context(name)?;
        let spec: Spec = serde_json::from_slice(&text).with_context(name)?;
        let schema = spec.schema;
        ensure!(schema == 1, "schema: found {schema}, expected 1");
        for (name, seconds) in [("warmup_s", spec.warmup_s), ("duration_s", spec.duration_s)] {
            let good = (0.0..1e6).contains(&seconds);
            ensure!(good, "{name}: found {seconds}, expected seconds");
        }
        Ok(spec)
    }

    /// The request to load it.
    pub fn load(&self) -> Result<Action> {
        let binary = fs::read(&self.binary);
        Ok(Action::Load(Load {
            name: NAME.into(),
            binary: binary.with_context(|| self.binary.display().to_string())?,
            options: Some(LoadOptions {
                workers: self.workers,
                ..LoadOptions::default()
            }),
        }))
    }
}

/// A line that an instrument prints.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "event")]
pub enum Event {
    /// Once a second.
    Progress {
        t_s: f64,
        phase: &'static str,
        rate: usize,
        errors: u32,
    },
    /// The window opens.
    Measure { t_s: f64 },
    /// It closes.
    Measured { t_s: f64 },
    /// The last line.
    Result {
        schema: u32,
        instrument: &'static str,
        window_s: f64,
        outcomes: Map<String, Value>,
        errors: Map<String, Value>,
        total: Total,
    },
}

/// Of all the time.
#[derive(Serialize)]
pub struct Total {
    /// The number of measured calls.
    pub requests: usize,
}

impl Event {
    /// The result of a window in which nothing failed, since whatever fails ends the instrument.
    pub fn result(
        instrument: &'static str,
        window_s: f64,
        outcomes: Map<String, Value>,
        requests: usize,
    ) -> Event {
        Event::Result {
            schema: 1,
            instrument,
            window_s,
            outcomes,
            errors: Map::new(),
            total: Total { requests },
        }
    }

    /// Print it.
    pub fn print(&self) -> Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}
