//! The arguments about when requests are sent.

use clap::Args;

use super::values::{profile, think};
use crate::spec::{Pace, Profile, Spread, Think, Wait, default};
use crate::time::seconds;

/// The arguments about when requests are sent, and for how long.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct PaceOptions {
    /// Measured time: 10, 10s, 500ms or 2m [default: 10s, or until all rounds are made,
    /// or the log is replayed]
    #[arg(short, long, value_name = "TIME", value_parser = seconds)]
    pub duration: Option<f64>,

    /// Requests to make, without a warm-up, instead of measuring for a time; 0 for no such number. One
    /// that is never answered takes a --timeout; --duration bounds them all
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub rounds: u64,

    /// At most so many requests a second, as answers allow; 0 for no limit
    #[arg(short, long, value_name = "R", default_value_t = 0.0)]
    pub qps: f64,

    /// Requests per second by the clock (open loop); without it, each answer brings the next request
    #[arg(long, value_name = "R", group = "clock", conflicts_with_all = ["qps", "serial", "think"])]
    pub rate: Option<f64>,

    /// Change of --rate from the opening of the window: ramp:TO:TIME, spike:TO:AT:TIME,
    /// sine:AMPLITUDE:PERIOD, or file:FILE with `SECONDS RATE` a line
    #[arg(long, value_name = "PROFILE", requires = "rate", value_parser = profile)]
    pub profile: Option<Profile>,

    /// Arrivals of --rate and --steps [default: poisson]
    #[arg(long, value_enum, requires = "clock")]
    arrivals: Option<Spread>,

    /// Waiting for the next send of --rate, --steps and --replay: `spin` polls for the last 100 µs; `sleep`
    /// costs less CPU, and sends are as late as the kernel's wake-ups [default: spin]
    #[arg(long, value_enum, requires = "clock")]
    wait: Option<Wait>,

    /// One request at a time over all connections, which take turns
    #[arg(long)]
    pub serial: bool,

    /// Pause of each connection between an answer and its next request: 1s, uniform:0.5s..2s or
    /// exp:1s
    #[arg(long, value_name = "DELAY", value_parser = think)]
    pub think: Option<Think>,

    /// Load before the measurement [default: 1s, or none with --rounds and --replay]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub warmup: Option<f64>,

    /// Connections opened per second; without it, all at once
    #[arg(long, value_name = "N")]
    pub ramp: Option<f64>,
}

impl PaceOptions {
    /// The rule for when requests are sent.
    pub fn pace(&self) -> Pace {
        let limit = Some(self.qps).filter(|qps| *qps != 0.0);
        match self.rate {
            Some(rate) => Pace::Open {
                rate,
                arrivals: self.arrivals(),
                wait: self.wait(),
            },
            None if self.serial => Pace::Serial { limit },
            None => Pace::Closed { limit },
        }
    }

    /// The spread of sends by the clock.
    pub fn arrivals(&self) -> Spread {
        self.arrivals.unwrap_or_default()
    }

    /// The way to wait for a send by the clock.
    pub fn wait(&self) -> Wait {
        self.wait.unwrap_or_default()
    }

    /// The number of requests, if it is fixed.
    pub fn requests(&self) -> Option<u64> {
        Some(self.rounds).filter(|rounds| *rounds > 0)
    }

    /// Seconds of load before the window; none before a `log` unless it is asked for.
    pub fn warmup_s(&self, log: bool) -> f64 {
        self.warmup.unwrap_or(match self.requests() {
            None if !log => default::warmup_s(),
            _ => 0.0,
        })
    }

    /// Seconds of the window; without end if the load ends by itself.
    pub fn duration_s(&self, ends: bool) -> f64 {
        self.duration.unwrap_or(match self.requests() {
            None if !ends => default::duration_s(),
            _ => default::UNBOUNDED_S,
        })
    }
}
