//! The command line of tare-tail.

use clap::Parser;

use crate::cli::{Role, role};

/// Tell what the slowest requests waited for: JSON lines on standard output; "begin", "end" and the name of a
/// file of times on standard input.
#[derive(Debug, Parser)]
#[command(name = "tare-tail", version)]
pub struct Cli {
    /// A role's name and its processes. What they fork later belongs to the role too.
    #[arg(long = "role", value_name = "NAME=PID[,PID…]", required = true, value_parser = role)]
    pub roles: Vec<Role>,
    /// A port that the loaded role listens on.
    #[arg(long = "port", value_name = "PORT", required = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub ports: Vec<u16>,
    /// The share of requests that are the slowest.
    #[arg(long, value_name = "SHARE", default_value_t = 0.001)]
    pub slowest: f64,
}
