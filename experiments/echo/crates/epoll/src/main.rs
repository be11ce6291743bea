//! The baseline: wait with epoll, read, write.

use std::process::ExitCode;

use clap::Parser;
use echo_server::copy::Copy;
use echo_server::readiness::{self, Trigger};
use echo_server::{Moved, Options, serve};

/// An echo server and relay that waits with epoll, reads and writes.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let options = Cli::parse().options;
    serve(
        "epoll",
        &options,
        |thread| readiness::work(thread, Copy::new(), Trigger::Level),
        || Ok(Moved::default()),
    )
}
