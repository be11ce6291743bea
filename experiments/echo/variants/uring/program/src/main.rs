//! io_uring with all that makes it cheap, and no wait for more than one completion.

use std::process::ExitCode;

use clap::Parser;
use echo_multishot::Pool;
use echo_server::Options;

/// An echo server and relay over io_uring.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    pool: Pool,
}

fn main() -> ExitCode {
    let Cli { options, pool } = Cli::parse();
    echo_multishot::serve("uring", &options, &pool, 0)
}
