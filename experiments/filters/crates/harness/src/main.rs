//! An instrument of the laboratory (docs/FORMAT.md): what a call of a filter library costs, in
//! nanoseconds and in instructions.
//!
//! The library is loaded and initialised as in nginx's master, and called in a process that is forked
//! from it, as nginx's workers are.

mod case;
mod clock;
mod library;
mod spec;
mod stepping;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, pipe};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::case::{Case, cases};
use crate::clock::Clock;
use crate::library::{Counts, Library};
use crate::spec::Spec;

/// Measures what a call of a filter library costs, as the spec in FILE says.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// The spec, JSON.
    #[arg(long, value_name = "FILE")]
    spec: PathBuf,
}

/// The report of the measuring process to its parent: `[min, median]` nanoseconds of each case, and
/// more.
#[derive(Deserialize, Serialize)]
struct Told {
    window_s: f64,
    ns: Vec<[f64; 2]>,
    total: Counts,
    wrong: u64,
    miscounted: u64,
}

/// The last line.
#[derive(Serialize)]
struct Report {
    event: &'static str,
    schema: u32,
    instrument: &'static str,
    window_s: f64,
    outcomes: Map<String, Value>,
    errors: Errors,
    total: Counts,
}

/// Errors by kind.
#[derive(Serialize)]
struct Errors {
    /// Answers that were wrong.
    answer: u64,
    /// By how much the library's counters are off.
    counter: u64,
    /// Paths whose instructions were not the same each time.
    unequal: u64,
}

fn main() -> ExitCode {
    let spec = match read(&Cli::parse().spec) {
        Ok(spec) => spec,
        Err(error) => {
            eprintln!("filter-harness: {error:#}");
            return ExitCode::from(2);
        }
    };
    match measure(&spec) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("filter-harness: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn read(file: &Path) -> Result<Spec> {
    let opened = File::open(file).with_context(|| file.display().to_string())?;
    let spec: Spec = serde_json::from_reader(opened).with_context(|| file.display().to_string())?;
    if spec.schema != 1 {
        bail!(
            "{}: schema: found {}, expected 1",
            file.display(),
            spec.schema
        );
    }
    Ok(spec)
}

fn measure(spec: &Spec) -> Result<()> {
    if let Some(&cpu) = spec.cpus.first() {
        let mut one = CpuSet::new();
        one.set(cpu)?;
        sched_setaffinity(Pid::from_raw(0), &one).with_context(|| format!("cpus: {cpu}"))?;
    }
    let library = Library::load(spec)?;
    let cases = cases(spec.prefix.as_bytes(), &spec.lengths);
    let (told, tell) = pipe()?;
    let (mut told, mut tell) = (File::from(told), File::from(tell));
    // SAFETY: this process has one thread, unless the library made some, which only nginx's master
    // would have, too.
    match unsafe { fork() }? {
        ForkResult::Child => {
            drop(told);
            let code = match call(spec, &library, &cases) {
                Ok(found) => {
                    tell.write_all(&serde_json::to_vec(&found)?)?;
                    0
                }
                Err(error) => {
                    eprintln!("filter-harness: {error:#}");
                    1
                }
            };
            drop(tell);
            // What the library does at its end is no business of a fork of it.
            // SAFETY: ends this process.
            unsafe { nix::libc::_exit(code) }
        }
        ForkResult::Parent { child } => {
            drop(tell);
            let counts = stepping::step(child, cases.len() * stepping::REPEATS)?;
            let mut text = String::new();
            told.read_to_string(&mut text)?;
            match waitpid(child, None)? {
                WaitStatus::Exited(_, 0) => {}
                other => bail!("the calling process ended as {other:?}, expected exit code 0"),
            }
            print_event(&report(spec, &cases, serde_json::from_str(&text)?, &counts))
        }
    }
}

/// In the calling process: everything but the counting of instructions.
fn call(spec: &Spec, library: &Library, cases: &[Case]) -> Result<Told> {
    let before = library.counts();
    let begun = Instant::now();
    let mut clock = Clock::new(library.filter, cases)?;
    clock.run(Duration::from_secs_f64(spec.warmup_s))?;
    print_event(&json!({"event": "measure", "t_s": begun.elapsed().as_secs_f64()}))?;
    let opened = Instant::now();
    let timings = clock.run(Duration::from_secs_f64(spec.duration_s))?;
    let window_s = opened.elapsed().as_secs_f64();
    print_event(&json!({"event": "measured", "t_s": begun.elapsed().as_secs_f64()}))?;
    let accepted = stepping::be_stepped(library.filter, cases)?;
    for (case, accepted) in cases.iter().zip(accepted) {
        clock.note(case, stepping::REPEATS as u64, accepted);
    }
    let miscounted = before.zip(library.counts()).map_or(0, |(before, after)| {
        let accepted = (after.accepted - before.accepted).abs_diff(clock.asked.accepted);
        accepted + (after.rejected - before.rejected).abs_diff(clock.asked.rejected)
    });
    Ok(Told {
        window_s,
        ns: timings
            .iter()
            .map(|each| [each.min_ns, each.median_ns])
            .collect(),
        total: clock.asked,
        // Without a filter nothing is decided.
        wrong: if before.is_some() { clock.wrong } else { 0 },
        miscounted,
    })
}

/// Every length and answer by name, null where no path of that length can be it.
fn report(spec: &Spec, cases: &[Case], told: Told, counts: &[u64]) -> Report {
    let mut outcomes = Map::new();
    for length in &spec.lengths {
        for kind in ["accept", "reject"] {
            outcomes.insert(format!("instructions_{kind}_{length}"), Value::Null);
            outcomes.insert(format!("ns_min_{kind}_{length}"), Value::Null);
            outcomes.insert(format!("ns_median_{kind}_{length}"), Value::Null);
        }
    }
    let mut unequal = 0;
    let stepped = counts.chunks(stepping::REPEATS);
    for ((case, counts), [min, median]) in cases.iter().zip(stepped).zip(&told.ns) {
        unequal += u64::from(counts.iter().any(|count| count != &counts[0]));
        outcomes.insert(format!("instructions_{}", case.name), json!(counts[0]));
        outcomes.insert(format!("ns_min_{}", case.name), json!(min));
        outcomes.insert(format!("ns_median_{}", case.name), json!(median));
    }
    Report {
        event: "result",
        schema: 1,
        instrument: concat!("filter-harness ", env!("CARGO_PKG_VERSION")),
        window_s: told.window_s,
        outcomes,
        errors: Errors {
            answer: told.wrong,
            counter: told.miscounted,
            unequal,
        },
        total: told.total,
    }
}

/// One event, in a line of its own.
fn print_event(event: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string(event)?);
    Ok(())
}
