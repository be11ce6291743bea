//! io_uring as most first use it: a plain ring, and one operation for each accept, receive and
//! send, over a buffer of each connection's own.

mod work;

use std::process::ExitCode;

use clap::Parser;
use echo_server::{Moved, Options, serve};

/// An echo server and relay over io_uring without what came after its first releases.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let options = Cli::parse().options;
    serve("uring-singleshot", &options, work::work, || {
        Ok(Moved::default())
    })
}
