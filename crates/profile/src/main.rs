//! The profiler's binary.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use tare_profile::cli::Cli;
use tare_profile::{parent, run};

fn main() -> ExitCode {
    let cli = Cli::parse();
    parent::run("tare-profile", || run::run(&cli, &mut io::stdout()))
}
