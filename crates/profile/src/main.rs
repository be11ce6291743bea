//! The binary: reads the options, profiles, and tells by its exit code why there is no profile.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use tare_profile::cli::Cli;
use tare_profile::failure::Failure;
use tare_profile::profile::Event;
use tare_profile::run::{run, say};

/// The exit code where there can be no profile.
const UNAVAILABLE: u8 = 3;

fn main() -> ExitCode {
    let parent = getppid();
    let cli = Cli::parse();
    match follow(parent).and_then(|()| run(&cli, &mut io::stdout())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Unavailable(reason)) => {
            // Nobody may read it any more.
            let _ = say(&mut io::stdout(), &Event::Unavailable { reason });
            ExitCode::from(UNAVAILABLE)
        }
        Err(failure) => {
            eprintln!("tare-profile: {failure}");
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
