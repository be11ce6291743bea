//! The server's command line.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;

use crate::burden::Costs;
use crate::drift::Drift;

/// A small HTTP server that costs exactly as much more as it is told.
///
/// GET / answers "hello" and pays; GET /account says what was paid.
#[derive(Debug, Parser)]
#[command(name = "known-server", version)]
pub struct Options {
    /// Address to listen on.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// Extra CPU time, in percent of the server's own.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = share)]
    pub cpu: f64,
    /// Microseconds that each answer waits, with the CPU busy.
    #[arg(long, value_name = "US", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub delay: u64,
    /// Each answer of this number is a 500; 0: none.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub error_every: u64,
    /// Milliseconds for which the whole server sleeps, once every second.
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=10_000))]
    pub stall: u64,
    /// Extra memory, in megabytes.
    #[arg(long, value_name = "MB", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=65_536))]
    pub memory: u64,
    /// Extra CPU time that comes and goes with the clock, in percent, alike for all servers.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = share)]
    pub drift: f64,
    /// Seconds from one peak of --drift to the next.
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = period)]
    pub drift_period: f64,
}

impl Options {
    /// The costs of an answer.
    pub fn costs(&self) -> Costs {
        let stall = Duration::from_millis(self.stall);
        Costs {
            cpu_percent: self.cpu,
            delay: Duration::from_micros(self.delay),
            error_every: self.error_every,
            stall: (!stall.is_zero()).then_some((stall, Duration::from_secs(1))),
            drift: Drift {
                percent: self.drift,
                period_s: self.drift_period,
            },
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    within(text, 0.0, 10_000.0)
}

fn period(text: &str) -> Result<f64, String> {
    within(text, 0.001, 1e6)
}

fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let found = text
        .parse::<f64>()
        .ok()
        .filter(|value| (least..=most).contains(value));
    found.ok_or_else(|| format!("expected a number from {least} to {most}"))
}
