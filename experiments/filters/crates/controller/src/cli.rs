//! The command line that controllers share: what is done to one that runs, and how it ends.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::run::Filter;

/// The operation on the memory of a running controller, which `S` names.
#[derive(Subcommand)]
pub enum Command<S: Args> {
    /// Gives the filter of a running controller another prefix.
    Set {
        #[command(flatten)]
        #[allow(missing_docs)]
        shm: S,
        /// Paths that begin so are accepted from now on; "" accepts all.
        #[arg(long)]
        prefix: OsString,
    },
    /// Prints the counters of a running controller as JSON.
    Get(S),
}

impl<S: Args> Command<S> {
    /// Does it to the memory that `open` finds.
    pub fn act<F: Filter>(&self, open: impl Fn(&S) -> Result<F>) -> Result<()> {
        match self {
            Self::Set { shm, prefix } => open(shm)?.publish(prefix.as_bytes()),
            Self::Get(shm) => {
                let counts = open(shm)?.counts();
                println!(
                    "{{\"accepted\":{},\"rejected\":{},\"failed\":{}}}",
                    counts.accepted, counts.rejected, counts.failed
                );
                Ok(())
            }
        }
    }
}

/// Print the error, if any. Return the exit code of `program`.
pub fn end(program: &str, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
