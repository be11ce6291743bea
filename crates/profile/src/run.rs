//! One profile: from the options to the last line of output.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::kernel::{Programs, Unwinding};
use crate::memory::Memories;
use crate::names;
use crate::profile::{Event, Profile, Window};

/// The time between two looks at new processes.
const LOOK: Duration = Duration::from_millis(100);

/// Profile what `cli` names, and write the events to `out`.
pub fn run(cli: &Cli, out: &mut impl Write) -> Result<(), Failure> {
    let roles = cli.all_roles()?;
    let mut memories = Memories::default();
    // Memory maps are read first: a process may end at any time.
    for &process in roles.iter().flat_map(|role| &role.processes) {
        memories.note(process, 0);
    }
    let programs = Programs::load(&roles, cli.period_ns(), !cli.no_waits)?;
    let mut unwinding = Unwinding::of(&programs);
    follow(&mut unwinding, &memories);
    let lines = lines();
    say(out, &Event::Ready)?;
    match lines.recv() {
        Ok(line) if line == "begin" => (),
        Ok(line) => {
            return Err(Failure::Other(format!(
                "expected \"begin\", found {line:?}"
            )));
        }
        Err(_) => return Ok(()),
    }
    // Libraries may have been loaded meanwhile.
    memories.look_again();
    follow(&mut unwinding, &memories);
    let began = programs.begin()?;
    say(out, &Event::Begun)?;
    loop {
        match lines.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => look(&mut memories, &programs, &mut unwinding),
            Err(RecvTimeoutError::Disconnected) => break,
            Ok(line) if line == "end" => break,
            Ok(line) => return Err(Failure::Other(format!("expected \"end\", found {line:?}"))),
        }
    }
    let (ended, lost) = programs.end(began)?;
    look(&mut memories, &programs, &mut unwinding);
    memories.look_again();
    let record = programs.record(began, ended, roles.len());
    let named = names::name(&record, &memories);
    let window = Window {
        period_ns: cli.period_ns(),
        window_ns: ended - began,
        lacking: programs.lacking.clone(),
        lost,
    };
    let profile = Profile::new(&roles, window, named, record.counts);
    say(out, &Event::Profile(profile))
}

/// Let the BPF programs follow the callers of all known processes.
fn follow(unwinding: &mut Unwinding, memories: &Memories) {
    for (process, memory) in memories.all() {
        unwinding.follow(process, memory);
    }
}

/// Look at processes that are new.
fn look(memories: &mut Memories, programs: &Programs, unwinding: &mut Unwinding) {
    for (number, process) in programs.processes() {
        if memories.note(number, process.executions) {
            if let Some(memory) = memories.get(number) {
                unwinding.follow(number, memory);
            }
        }
    }
}

/// Write one event as a line.
pub fn say(out: &mut impl Write, event: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(event).map_err(|error| Failure::of("writing JSON", error))?;
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::of("writing to standard output", error))
}

/// The lines of standard input, until its end.
pub fn lines() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line.trim().to_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}
