//! The kernel redirects each skb by itself, with one verdict program; user space sleeps.

use std::process::ExitCode;

use clap::Parser;
use echo_redirect::Limits;
use echo_server::Options;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sockmap.bpf.o"));

/// An echo server and relay whose bytes never leave the kernel.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    limits: Limits,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    echo_redirect::serve("sockmap", &cli.options, &cli.limits, OBJECT)
}
