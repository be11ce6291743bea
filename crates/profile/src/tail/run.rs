//! One look at the tail: from the options to the last line of output.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::blame::Seen;
use super::cli::Cli;
use super::kernel::Programs;
use super::requests::{Chosen, Request, Requests};
use super::sockets::Sockets;
use super::tasks::Tasks;
use crate::failure::Failure;
use crate::run::{lines, say};

/// A line of standard output.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    Ready,
    Begun,
    Ended,
    Tail(Tail),
}

/// The time of the slowest requests by cause, beside that of ordinary ones.
#[derive(Debug, Serialize)]
struct Tail {
    schema_version: u32,
    /// Requests of either kind.
    requests: usize,
    /// All that were looked at.
    of: usize,
    /// Those that were answered only afterwards.
    later: usize,
    /// The latency of the fastest of the slowest.
    from_ns: u64,
    slow_ns: f64,
    ordinary_ns: f64,
    parts: Vec<Part>,
    /// Events that found no room.
    lost: u64,
}

/// One cause, in nanoseconds a request.
#[derive(Debug, Serialize)]
struct Part {
    cause: &'static str,
    /// The process, or the system call, that it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    who: String,
    slow_ns: f64,
    ordinary_ns: f64,
}

/// Look at the roles that `cli` names, and write the events to `out`.
pub fn run(cli: &Cli, out: &mut impl Write) -> Result<(), Failure> {
    let programs = Programs::load(&cli.roles, &cli.ports)?;
    let lines = lines();
    let next = |wanted: &str| match lines.recv() {
        Ok(line) if line == wanted || wanted.is_empty() => Ok(line),
        Ok(line) => Err(Failure::Other(format!(
            "expected {wanted:?}, found {line:?}"
        ))),
        Err(_) => Err(Failure::Other("standard input ended too early".into())),
    };
    say(out, &Event::Ready)?;
    next("begin")?;
    programs.begin()?;
    say(out, &Event::Begun)?;
    next("end")?;
    let (events, lost) = programs.end()?;
    say(out, &Event::Ended)?;
    let requests = Requests::read(Path::new(&next("")?))?;
    let (begun, ended) = match (events.first(), events.last()) {
        (Some(first), Some(last)) => (first.at, last.at),
        _ => (0, 0),
    };
    let chosen = requests.chosen(cli.slowest, begun, ended);
    let seen = Seen {
        tasks: Tasks::of(&events),
        sockets: Sockets::of(
            &events,
            &cli.ports.iter().copied().collect(),
            requests.have_places(),
        ),
        requests,
    };
    say(out, &Event::Tail(tail(&seen, &chosen, lost)))
}

fn tail(seen: &Seen, chosen: &Chosen, lost: u64) -> Tail {
    let Chosen {
        slow,
        ordinary,
        of,
        later,
    } = chosen;
    let count = slow.len().max(1) as f64;
    let mut causes: BTreeMap<_, [u64; 2]> = BTreeMap::new();
    for (kind, requests) in [slow, ordinary].into_iter().enumerate() {
        for request in requests {
            for (cause, ns) in seen.parts(request) {
                causes.entry(cause).or_default()[kind] += ns;
            }
        }
    }
    let mut parts: Vec<Part> = causes
        .into_iter()
        .map(|(cause, [slow, ordinary])| {
            let (cause, who) = cause.told();
            let [slow_ns, ordinary_ns] = [slow, ordinary].map(|ns| ns as f64 / count);
            Part {
                cause,
                who,
                slow_ns,
                ordinary_ns,
            }
        })
        .collect();
    let excess = |part: &Part| part.slow_ns - part.ordinary_ns;
    parts.sort_by(|one, other| excess(other).total_cmp(&excess(one)));
    let mean = |requests: &[Request]| {
        requests
            .iter()
            .map(|request| request.latency() as f64)
            .sum::<f64>()
            / count
    };
    Tail {
        schema_version: 1,
        requests: slow.len(),
        of: *of,
        later: *later,
        from_ns: slow.first().map_or(0, Request::latency),
        slow_ns: mean(slow),
        ordinary_ns: mean(ordinary),
        parts,
        lost,
    }
}
