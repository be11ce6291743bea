//! The arguments about the replay of a log.

use std::path::PathBuf;

use clap::Args;

use crate::replay::LogFormat;
use crate::spec::{ReplaySpec, Wait};

/// The arguments about the replay of a log.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Replay")]
pub struct ReplayOptions {
    /// Send the requests of an access log to the URL's origin, at their own times: combined format,
    /// JSON lines or HAR
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["requests", "rate", "qps", "serial", "think", "steps", "weights"]
    )]
    replay: Option<PathBuf>,

    /// Format of the log; without it, the one that it seems to have
    #[arg(long, value_enum, value_name = "NAME", requires = "replay")]
    log_format: Option<LogFormat>,

    /// Seconds of the log in a second of the run
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        requires = "replay"
    )]
    speed: f64,

    /// Begin the log again after its last request, until --duration
    #[arg(long = "loop", requires = "replay")]
    repeat: bool,
}

impl ReplayOptions {
    /// Return true if a log is replayed to its end.
    pub fn has_end(&self) -> bool {
        self.replay.is_some() && !self.repeat
    }

    /// Return true if a log is replayed.
    pub fn is_some(&self) -> bool {
        self.replay.is_some()
    }

    /// The replay. With `expect_logged`, the log's statuses are the correct ones.
    pub fn spec(self, expect_logged: bool, wait: Wait) -> Option<ReplaySpec> {
        let file = self.replay?;
        Some(ReplaySpec {
            file,
            format: self.log_format,
            speed: self.speed,
            timed: true,
            repeat: self.repeat,
            expect_logged,
            wait,
        })
    }
}
