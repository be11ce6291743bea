//! The binary: reads the arguments, runs the load, and prints the result.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, StdoutLock, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use rustix::termios::tcgetwinsize;
use signal_hook::consts::{SIGINT, SIGTERM};
use tare_load::cli::{Cli, Names, Output};
use tare_load::engine::Observer;
use tare_load::report::conditions::Condition;
use tare_load::report::csv::Csv;
use tare_load::report::events::Events;
use tare_load::report::hdr_log::HdrLog;
use tare_load::report::header::Heading;
use tare_load::report::hints::hints;
use tare_load::report::kept::{Faults, ToFile, unwritten};
use tare_load::report::live::{Lines, Live};
use tare_load::report::metrics::Metrics;
use tare_load::report::paint::Paint;
use tare_load::report::result::Result as Report;
use tare_load::report::summary::summary;
use tare_load::report::verdict::{is_well, silence};
use tare_load::report::{All, schedule};
use tare_load::run::{self, Error};
use tare_load::spec::{Spec, SpecError, Spread, Wait};
use tare_load::steps::{self, Steps};

/// The exit code of a run that a signal stopped, as shells report SIGINT.
const STOPPED: u8 = 130;

/// The exit code of a run whose output nobody reads any more, as shells report SIGPIPE.
const GONE: u8 = 141;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.spec {
        Some(file) => instrument(file),
        None => {
            let names = Names::of(&cli);
            people(cli).map_err(|error| names.explain(error))
        }
    };
    match done {
        Ok(code) => code,
        Err(Error::Usage(error)) => {
            complain(error);
            ExitCode::from(2)
        }
        Err(Error::Other(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::from(GONE),
        Err(Error::Other(error)) => {
            complain(error);
            ExitCode::from(1)
        }
        Err(Error::Stopped) => {
            complain("stopped by a signal before the run began: there is no result");
            ExitCode::from(STOPPED)
        }
    }
}

/// Run as an instrument: JSON lines on standard output.
fn instrument(file: &Path) -> Result<ExitCode, Error> {
    let text = std::fs::read_to_string(file).map_err(|why| {
        let found = format!("{} cannot be read ({why})", file.display());
        SpecError::new("spec", found, "name a readable file")
    })?;
    let mut events = Events(io::stdout().lock());
    let spec = Spec::from_json(&text)?;
    let report = run(&spec, &mut events)?;
    events.result(&report)?;
    let fault = unwritten_times(&report, spec.times_file.as_deref());
    fault.map_or(Ok(ExitCode::SUCCESS), |fault| {
        Err(Error::Other(io::Error::other(fault)))
    })
}

/// Run for people: progress on standard error, the summary on standard output.
fn people(cli: Cli) -> Result<ExitCode, Error> {
    let (output, arrivals, wait) = (cli.output.clone(), cli.pace.arrivals(), cli.pace.wait());
    let chosen = cli.names_statuses();
    let spec = cli.into_spec()?;
    unused_cpus(&spec).iter().for_each(complain);
    if let Some(steps) = output.steps {
        return trace(&spec, &output, steps, arrivals, wait, chosen);
    }
    let mut observers = All(Vec::new());
    let faults = Faults::default();
    if !output.json {
        observers.0.push(Box::new(Heading(io::stdout())));
    }
    observers.0.push(view(&spec));
    if let Some(file) = &output.series {
        let written = Events(create(file)?);
        observers
            .0
            .push(Box::new(ToFile::new(written, file, &faults)));
    }
    if let Some(file) = &output.hdr_log {
        let written = HdrLog::new(create(file)?).map_err(|why| unwritable(file, why))?;
        observers
            .0
            .push(Box::new(ToFile::new(written, file, &faults)));
    }
    if let Some(file) = &output.csv {
        let written = Csv::new(create(file)?).map_err(|why| unwritable(file, why))?;
        observers
            .0
            .push(Box::new(ToFile::new(written, file, &faults)));
    }
    if let Some(address) = output.metrics {
        let served = Metrics::new(address).map_err(|why| {
            let why = format!("--metrics {address} cannot be served ({why})");
            Error::Other(io::Error::other(why))
        })?;
        observers.0.push(Box::new(served));
    }
    let mut report = run(&spec, &mut observers)?;
    drop(observers);
    let judge = |condition: &Condition| condition.judge(&report);
    report.conditions = output.require.iter().map(judge).collect();
    show(|to| match output.json {
        true => Events(to).result(&report),
        false => {
            let hints = hints(&report, &spec, chosen);
            let paint = Paint::of(&*to);
            to.write_all(summary(&report, &hints, paint).as_bytes())
        }
    })?;
    let mut unwritten = faults.take();
    unwritten.extend(unwritten_times(&report, output.times.as_deref()));
    unwritten.iter().for_each(complain);
    schedule::lateness(&report).iter().for_each(complain);
    // The summary has said it.
    let shortfall = schedule::shortfall(&report).filter(|_| output.json);
    shortfall.iter().for_each(complain);
    if report.stopped_early {
        return Ok(stopped());
    }
    silence(&report).iter().for_each(complain);
    let well = is_well(&report, &output.require) && unwritten.is_empty();
    Ok(ExitCode::from(u8::from(!well)))
}

fn trace(
    spec: &Spec,
    output: &Output,
    steps: Steps,
    arrivals: Spread,
    wait: Wait,
    chosen: bool,
) -> Result<ExitCode, Error> {
    let (interrupt, conditions) = (interrupt()?, &output.require);
    let traced = steps::trace(spec, steps, arrivals, wait, conditions, view, &interrupt)?;
    show(|to| match output.json {
        true => {
            let mut events = Events(to);
            traced
                .iter()
                .try_for_each(|step| events.step(&step.report, &step.verdict))
        }
        false => to.write_all(steps::table(&traced).as_bytes()),
    })?;
    if output.json {
        // The table has them.
        steps::reasons(&traced).iter().for_each(complain);
    }
    let failed = traced.iter().find(|step| step.report.failures() > 0);
    let hints = failed.map(|step| hints(&step.report, spec, chosen));
    hints.iter().flatten().for_each(complain);
    if traced.last().is_some_and(|step| step.report.stopped_early) {
        return Ok(stopped());
    }
    Ok(ExitCode::from(u8::from(steps::knee(&traced).is_none())))
}

/// The end of a run that a signal stopped.
fn stopped() -> ExitCode {
    complain("stopped early by a signal: the result covers the time before it");
    ExitCode::from(STOPPED)
}

/// Write a finished run's result to standard output; a reader that has gone changes nothing.
fn show(write: impl FnOnce(&mut StdoutLock<'_>) -> io::Result<()>) -> io::Result<()> {
    match write(&mut io::stdout().lock()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Write a complaint to standard error, which may be closed.
fn complain(text: impl Display) {
    let _ = writeln!(io::stderr(), "tare-load: {text}");
}

/// A remark on CPUs that no worker runs on.
fn unused_cpus(spec: &Spec) -> Option<String> {
    let (cpus, threads) = (spec.cpus.as_ref()?.len(), spec.threads);
    (cpus > threads).then(|| {
        let unused = cpus - threads;
        format!("--cpus: {unused} of {cpus} CPUs get no worker: --threads is {threads}")
    })
}

/// Figures that are drawn anew on a terminal; one line per second elsewhere.
fn view(spec: &Spec) -> Box<dyn Observer> {
    let to = io::stderr();
    // Nobody could read of a fault, and the result goes elsewhere.
    let (place, faults) = (Path::new("standard error"), Faults::default());
    match tcgetwinsize(&to) {
        Ok(size) => {
            let paint = Paint::of(&to);
            let live = Live::new(to, size.ws_row.into(), paint, spec);
            Box::new(ToFile::new(live, place, &faults))
        }
        Err(_) => Box::new(ToFile::new(Lines(to), place, &faults)),
    }
}

fn create(file: &Path) -> Result<File, Error> {
    File::create(file).map_err(|why| unwritable(file, why))
}

fn unwritable(file: &Path, why: io::Error) -> Error {
    let why = format!("{} cannot be written ({why})", file.display());
    Error::Other(io::Error::other(why))
}

/// A sentence about the file of times, if it is not whole.
fn unwritten_times(report: &Report, file: Option<&Path>) -> Option<String> {
    Some(unwritten(file?, report.times_fault.as_ref()?))
}

/// A flag that each SIGINT or SIGTERM sets.
fn interrupt() -> io::Result<Arc<AtomicBool>> {
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, interrupt.clone())?;
    }
    Ok(interrupt)
}

fn run(spec: &Spec, observer: &mut impl Observer) -> Result<Report, Error> {
    run::run(spec, observer, &*interrupt()?)
}
