//! The arguments about a run's output and its conditions.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::values::listen;
use crate::report::conditions::Condition;
use crate::steps::Steps;

/// The arguments that change nothing in the load itself.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Show the first N answers as they came (not of h2, h3, grpc and ws)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub show: usize,

    /// Exit with 1 unless the condition holds, as p99<5ms, ttfb_max<=1s, errors<1% or rate>1000;
    /// repeatable
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<Condition>,

    /// Run at one --rate after the other and find the highest that holds all conditions; with
    /// --json a result a line, each with its verdict
    #[arg(
        long,
        value_name = "FROM:TO:BY",
        group = "clock",
        conflicts_with_all = [
            "qps", "serial", "think", "rounds", "profile",
            "hdr_log", "series", "csv", "times", "metrics", "show"
        ]
    )]
    pub steps: Option<Steps>,

    /// Write each second's figures to a file, a JSON object a line
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,

    /// Write each second's figures to a file, comma-separated
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Serve the figures so far to Prometheus while the run lasts, at a PORT of this machine or at
    /// ADDRESS:PORT
    #[arg(long, value_name = "PORT", value_parser = listen)]
    pub metrics: Option<SocketAddr>,

    /// Write the times of each answer to a file, comma-separated: when its request should have been
    /// sent, was sent and was answered, and on which port
    #[arg(long, value_name = "FILE")]
    pub times: Option<PathBuf>,

    /// Write each second's latencies to a file, as HdrHistogram's tools read it
    #[arg(long, value_name = "FILE")]
    pub hdr_log: Option<PathBuf>,
}
