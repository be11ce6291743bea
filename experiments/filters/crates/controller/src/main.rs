//! Makes the shared memory of an nginx filter, sets its prefix and prints its counters.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Parser};
use filter_controller::cli::{self, Command};
use filter_controller::memory::Memory;
use filter_controller::run;

/// Runs the controller: makes the memory before nginx starts, prints accepted and rejected each
/// second, takes lines "prefix /bbbb" on its input, and removes the memory when it is stopped.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command<Shm>>,
    #[command(flatten)]
    shm: Shm,
    /// Paths that begin so are accepted; "" accepts all.
    #[arg(long)]
    prefix: Option<OsString>,
}

#[derive(Args)]
struct Shm {
    /// Name of the shared memory.
    #[arg(
        long = "shm",
        value_name = "NAME",
        default_value = "/baseline_nginx_filter_shm"
    )]
    name: String,
}

fn main() -> ExitCode {
    cli::end("filter-controller", act(&Cli::parse()))
}

fn act(cli: &Cli) -> Result<()> {
    match (&cli.command, &cli.prefix) {
        (Some(command), _) => command.act(|shm| Memory::open(&shm.name)),
        (None, Some(prefix)) => run::run(&cli.shm.name, prefix.as_bytes(), || {
            Memory::own(&cli.shm.name, prefix.as_bytes())
        }),
        (None, None) => bail!("--prefix is missing; run: filter-controller --prefix /aaaa"),
    }
}
