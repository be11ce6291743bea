//! io_uring with all that makes it cheap, and with patience: completions gather before one wakes up
//! the thread for all of them.

use std::process::ExitCode;

use clap::Parser;
use echo_multishot::Pool;
use echo_server::Options;

/// An echo server and relay over io_uring that waits a little for more to do.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    pool: Pool,
    /// Microseconds for which more completions are waited for, unless all connections have one.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    min_wait_us: u32,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    echo_multishot::serve("uring-min-wait", &cli.options, &cli.pool, cli.min_wait_us)
}
