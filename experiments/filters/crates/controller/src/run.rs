//! The controller at work: prints the counters each second and takes new prefixes from its input.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::layout::Counts;
use crate::shm::Origin;

/// The memory of a filter, as its controller works on it.
pub trait Filter {
    /// Return the filter's decisions so far.
    fn counts(&self) -> Counts;
    /// Put a prefix in force for every request from now on.
    fn publish(&self, prefix: &[u8]) -> Result<()>;
    /// Remove the memory's name.
    fn remove(self) -> Result<()>;
}

/// An event that wakes the controller between two seconds.
enum Event {
    Line(Vec<u8>),
    Stop,
}

/// Run until SIGTERM or SIGINT, then prints all counts and removes the memory, which `own` makes or
/// recovers.
pub fn run<F: Filter>(
    name: &str,
    prefix: &[u8],
    own: impl FnOnce() -> Result<(F, Origin)>,
) -> Result<()> {
    // Signals are caught before there is anything to clean up.
    let signals = Signals::new([SIGINT, SIGTERM])?;
    let (memory, origin) = own()?;
    let (sender, events) = mpsc::channel();
    stop_on(signals, sender.clone());
    read_lines(sender);

    let mut last = memory.counts();
    if let Origin::Recovered(owner) = origin {
        print_line(&format!(
            "recovered {name} from process {owner}, which is gone: {}",
            describe(last, last, 1.0)
        ));
    }
    print_line(&format!(
        "controller ready: {name}, prefix \"{}\"",
        prefix.escape_ascii()
    ));

    let second = Duration::from_secs(1);
    let mut printed = Instant::now();
    loop {
        match events.recv_timeout(second.saturating_sub(printed.elapsed())) {
            Ok(Event::Stop) => break,
            Ok(Event::Line(line)) => obey(&memory, &line),
            Err(RecvTimeoutError::Timeout) => {
                let now = memory.counts();
                print_line(&describe(now, last, printed.elapsed().as_secs_f64()));
                (last, printed) = (now, Instant::now());
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    print_line(&format!("controller ends: {}", totals(memory.counts())));
    memory.remove()
}

/// One command from the input: `prefix /bbbb`.
fn obey(memory: &impl Filter, line: &[u8]) {
    let Some(prefix) = line.strip_prefix(b"prefix ") else {
        eprintln!("found \"{}\", expected: prefix /bbbb", line.escape_ascii());
        return;
    };
    match memory.publish(prefix) {
        Ok(()) => print_line(&format!("prefix is now \"{}\"", prefix.escape_ascii())),
        Err(error) => eprintln!("{error:#}"),
    }
}

fn describe(now: Counts, last: Counts, seconds: f64) -> String {
    let rate = |now: u64, last: u64| (now.wrapping_sub(last)) as f64 / seconds;
    let mut line = format!(
        "accepted {} ({:.0}/s) rejected {} ({:.0}/s)",
        now.accepted,
        rate(now.accepted, last.accepted),
        now.rejected,
        rate(now.rejected, last.rejected)
    );
    line += &failures(now);
    line
}

fn totals(now: Counts) -> String {
    let failures = failures(now);
    format!(
        "accepted {} rejected {}{failures}",
        now.accepted, now.rejected
    )
}

/// The part of the rejected to which the filter gave no answer, if there were any.
fn failures(now: Counts) -> String {
    match now.failed {
        0 => String::new(),
        failed => format!(", {failed} because the filter failed"),
    }
}

/// A line of output; a reader that went away does not stop the controller.
fn print_line(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

fn stop_on(mut signals: Signals, events: Sender<Event>) {
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let _ = events.send(Event::Stop);
        }
    });
}

fn read_lines(events: Sender<Event>) {
    thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
            if events.send(Event::Line(line)).is_err() {
                break;
            }
        }
    });
}
