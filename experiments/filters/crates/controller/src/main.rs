//! Makes the shared memory of an nginx filter, sets its prefix and prints its counters.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};
use filter_controller::memory::Memory;
use filter_controller::run::{self, Filter};

/// Runs the controller: makes the memory before nginx starts, prints accepted and rejected each
/// second, takes lines "prefix /bbbb" on its input, and removes the memory when it is stopped.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    shm: Shm,
    /// Paths that begin so are accepted; "" accepts all.
    #[arg(long)]
    prefix: Option<OsString>,
}

#[derive(Subcommand)]
enum Command {
    /// Gives the filter of a running controller another prefix.
    Set {
        #[command(flatten)]
        shm: Shm,
        /// Paths that begin so are accepted from now on; "" accepts all.
        #[arg(long)]
        prefix: OsString,
    },
    /// Prints the counters of a running controller as JSON.
    Get(Shm),
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
    match act(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("filter-controller: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn act(cli: Cli) -> Result<()> {
    match (cli.command, cli.prefix) {
        (Some(Command::Set { shm, prefix }), _) => {
            Memory::open(&shm.name)?.publish(prefix.as_bytes())
        }
        (Some(Command::Get(shm)), _) => {
            let counts = Memory::open(&shm.name)?.counts();
            println!(
                "{{\"accepted\":{},\"rejected\":{},\"failed\":{}}}",
                counts.accepted, counts.rejected, counts.failed
            );
            Ok(())
        }
        (None, Some(prefix)) => run::run(&cli.shm.name, prefix.as_bytes(), || {
            Memory::own(&cli.shm.name, prefix.as_bytes())
        }),
        (None, None) => bail!("--prefix is missing; run: filter-controller --prefix /aaaa"),
    }
}
