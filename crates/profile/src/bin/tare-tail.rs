//! The binary that looks at the slowest requests.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use tare_profile::parent;
use tare_profile::tail::cli::Cli;
use tare_profile::tail::run::run;

fn main() -> ExitCode {
    let cli = Cli::parse();
    parent::run("tare-tail", || run(&cli, &mut io::stdout()))
}
