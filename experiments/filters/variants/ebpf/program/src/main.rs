//! Loads an eBPF program for an nginx filter into shared memory, sets its prefix and prints its
//! counters.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Parser};
use filter_controller::cli::{self, Command};
use filter_controller::run;
use url_filter_ebpf::memory::Memory;

/// Runs the controller: verifies the program and makes its memory before nginx starts, prints accepted
/// and rejected each second, takes lines "prefix /bbbb" on its input, and removes the memory when it
/// is stopped.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command<Shm>>,
    #[command(flatten)]
    shm: Shm,
    /// The object file of the program, of clang -target bpf.
    #[arg(long, value_name = "FILE")]
    object: Option<PathBuf>,
    /// Paths that begin so are accepted; "" accepts all.
    #[arg(long)]
    prefix: Option<OsString>,
}

#[derive(Args)]
struct Shm {
    /// Name of the shared memory.
    #[arg(long = "shm", value_name = "NAME", default_value = "/filter_ebpf")]
    name: String,
}

fn main() -> ExitCode {
    cli::end("filter-ebpf-controller", act(&Cli::parse()))
}

fn act(cli: &Cli) -> Result<()> {
    match (&cli.command, &cli.object, &cli.prefix) {
        (Some(command), _, _) => command.act(|shm| Ok(Memory::open(&shm.name)?.0)),
        (None, Some(object), Some(prefix)) => run::run(&cli.shm.name, prefix.as_bytes(), || {
            Memory::own(&cli.shm.name, object, prefix.as_bytes())
        }),
        (None, _, _) => bail!(
            "--object or --prefix is missing; run: filter-ebpf-controller --object filter.bpf.o --prefix /aaaa"
        ),
    }
}
