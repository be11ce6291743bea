//! The frame of each binary: it ends with its parent, and tells by its exit code why there is no answer.

use std::io;
use std::process::ExitCode;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::failure::Failure;
use crate::profile::Event;
use crate::run::say;

/// The exit code where there can be no answer.
const UNAVAILABLE: u8 = 3;

/// Do the work of the program called `name`, and return its exit code.
pub fn run(name: &str, work: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    let parent = getppid();
    match follow(parent).and_then(|()| work()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Unavailable(reason)) => {
            // Nobody may read it any more.
            let _ = say(&mut io::stdout(), &Event::Unavailable { reason });
            ExitCode::from(UNAVAILABLE)
        }
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::from(if matches!(failure, Failure::Usage(_)) {
                2
            } else {
                1
            })
        }
    }
}

/// End with the parent. The kernel then removes the BPF programs with their last descriptors.
fn follow(parent: Option<Pid>) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::of("asking to end with the parent", error))?;
    if getppid() == parent {
        return Ok(());
    }
    Err(Failure::Other("the parent has ended".into()))
}
