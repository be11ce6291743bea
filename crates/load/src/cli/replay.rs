//! The arguments about the replay of a log.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::replay::LogFormat;
use crate::spec::{ReplaySpec, SpecError, Wait};
use crate::target::Target;

/// The arguments about the replay of a log.
///
/// They require the group `log`, since clap waives a required argument that another one forbids.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Replay")]
pub struct ReplayOptions {
    /// Send the requests of an access log to the URL's origin, at their own times: combined format,
    /// JSON lines or HAR
    #[arg(
        long,
        value_name = "FILE",
        groups = ["clock", "log"],
        conflicts_with_all = [
            "requests", "in_order", "sequence", "cookies", "method", "body", "body_file", "size", "keys", "zipf", "weights",
            "qps", "serial", "think", "profile", "arrivals"
        ]
    )]
    replay: Option<PathBuf>,

    /// Format of the log; without it, the one that it seems to have
    #[arg(long, value_enum, value_name = "NAME", requires = "log")]
    log_format: Option<LogFormat>,

    /// Seconds of the log in a second of the run
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "log")]
    speed: f64,

    /// Begin the log again after its last request, until --duration
    #[arg(long = "loop", requires = "log")]
    repeat: bool,
}

impl ReplayOptions {
    /// Return true if a log is replayed to its end.
    pub fn has_end(&self) -> bool {
        self.replay.is_some() && !self.repeat
    }

    /// The log.
    pub fn file(&self) -> Option<&Path> {
        self.replay.as_deref()
    }

    /// Return true if a log is replayed.
    pub fn is_some(&self) -> bool {
        self.replay.is_some()
    }

    /// Refuse URLs of which a log would not use all.
    ///
    /// # Errors
    /// A [`SpecError`] for several, and for one with a path.
    pub fn check(&self, urls: &[String]) -> Result<(), SpecError> {
        if self.replay.is_none() {
            return Ok(());
        }
        if urls.len() > 1 {
            let found = format!("{} URLs for one log", urls.len());
            return Err(SpecError::new("replay", found, "write one"));
        }
        for url in urls {
            if Target::parse(url)?.path != "/" {
                let found = format!("{url:?} has a path, but a log has its own");
                return Err(SpecError::new("replay", found, "write the URL without it"));
            }
        }
        Ok(())
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
