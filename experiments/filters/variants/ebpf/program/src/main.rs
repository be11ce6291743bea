//! Loads an eBPF program for an nginx filter into shared memory, sets its prefix and prints its
//! counters.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};
use filter_controller::run::{self, Filter};
use url_filter_ebpf::memory::Memory;

/// Runs the controller: verifies the program and makes its memory before nginx starts, prints accepted
/// and rejected each second, takes lines "prefix /bbbb" on its input, and removes the memory when it
/// is stopped.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    shm: Shm,
    /// The object file of the program, of clang -target bpf.
    #[arg(long, value_name = "FILE")]
    object: Option<PathBuf>,
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
    #[arg(long = "shm", value_name = "NAME", default_value = "/filter_ebpf")]
    name: String,
}

fn main() -> ExitCode {
    match act(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("filter-ebpf-controller: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn act(cli: Cli) -> Result<()> {
    match (cli.command, cli.object, cli.prefix) {
        (Some(Command::Set { shm, prefix }), _, _) => {
            Memory::open(&shm.name)?.0.publish(prefix.as_bytes())
        }
        (Some(Command::Get(shm)), _, _) => {
            let counts = Memory::open(&shm.name)?.0.counts();
            println!(
                "{{\"accepted\":{},\"rejected\":{}}}",
                counts.accepted, counts.rejected
            );
            Ok(())
        }
        (None, Some(object), Some(prefix)) => run::run(&cli.shm.name, prefix.as_bytes(), || {
            Memory::own(&cli.shm.name, &object, prefix.as_bytes())
        }),
        (None, _, _) => bail!(
            "--object or --prefix is missing; run: filter-ebpf-controller --object filter.bpf.o --prefix /aaaa"
        ),
    }
}
