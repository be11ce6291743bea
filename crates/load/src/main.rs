//! The binary: reads the arguments, runs the load, and tells what came of it.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};
use tare_load::cli::Cli;
use tare_load::engine::Observer;
use tare_load::report::events::Events;
use tare_load::report::result::Result as Report;
use tare_load::report::summary::{Lines, summary};
use tare_load::run::{self, Error};
use tare_load::spec::{Spec, SpecError};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.spec {
        Some(file) => instrument(file),
        None => people(cli),
    };
    match done {
        Ok(code) => code,
        Err(Error::Usage(error)) => {
            eprintln!("tare-load: {error}");
            ExitCode::from(2)
        }
        Err(Error::Other(error)) => {
            eprintln!("tare-load: {error}");
            ExitCode::from(1)
        }
    }
}

/// Runs as an instrument: JSON lines on standard output.
fn instrument(file: &Path) -> Result<ExitCode, Error> {
    let text = std::fs::read_to_string(file).map_err(|why| {
        let found = format!("{} cannot be read ({why})", file.display());
        SpecError::new("spec", found, "name a readable file")
    })?;
    let mut events = Events(io::stdout().lock());
    let report = run(&Spec::from_json(&text)?, &mut events)?;
    events.result(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs for people: a line a second on standard error, the summary on standard output.
fn people(cli: Cli) -> Result<ExitCode, Error> {
    let json = cli.json;
    let report = run(&cli.into_spec()?, &mut Lines(io::stderr().lock()))?;
    if json {
        Events(io::stdout().lock()).result(&report)?;
    } else {
        print!("{}", summary(&report));
    }
    let failed = report.total.errors.sum() + report.load.unfinished > 0;
    Ok(ExitCode::from(u8::from(failed)))
}

fn run(spec: &Spec, observer: &mut impl Observer) -> Result<Report, Error> {
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, interrupt.clone())?;
    }
    run::run(spec, observer, &interrupt)
}
