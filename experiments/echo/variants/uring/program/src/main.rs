//! io_uring with all that makes it cheap: one accept and one receive for a connection's whole life,
//! buffers that the kernel picks from a ring, and completions only when the thread asks for them.

mod buffers;
mod flow;
mod operations;
mod work;

use std::process::ExitCode;

use clap::Parser;
use echo_server::{Moved, Options, serve};

/// An echo server and relay over io_uring.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    pool: buffers::Pool,
}

fn main() -> ExitCode {
    let Cli { options, pool } = Cli::parse();
    serve(
        "uring",
        &options,
        |thread| work::work(thread, &pool),
        || Ok(Moved::default()),
    )
}
