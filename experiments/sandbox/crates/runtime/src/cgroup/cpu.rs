//! The CPU time of a slot's processes together. What they use beyond their limit ends them; what they
//! use before they are called stops them until then.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use super::files::{access, contents};
use crate::lock::lock;

/// CPU time that a worker may use between its ready byte and its call.
const UNCALLED: Duration = Duration::from_millis(20);

/// The activity of a slot's worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// It starts or ends, or there is none.
    #[default]
    Away,
    /// It is ready, and not called yet.
    Ready,
    /// It serves a call.
    Called,
}

/// The measure that [`Cpu::look`] took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The worker computes though nobody has called it: it is frozen until then.
    Frozen,
    /// The worker has used all the CPU time that it may: it is killed.
    Killed,
}

/// The files of a slot's group of version 2 that are about CPU time.
#[derive(Debug)]
pub struct Cpu {
    usage: File,
    freeze: File,
    kill: File,
    most: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    activity: Activity,
    /// CPU time used when the activity was first looked at.
    since: Option<Duration>,
    frozen: bool,
    used_up: bool,
}

impl Cpu {
    /// Open the files in `folder`, whose processes may use at most so much for a call.
    pub fn open(folder: &Path, most: Duration) -> Result<Self, String> {
        Ok(Cpu {
            usage: access(&folder.join("cpu.stat"), false)?,
            freeze: access(&folder.join("cgroup.freeze"), true)?,
            kill: access(&folder.join("cgroup.kill"), true)?,
            most,
            state: Mutex::default(),
        })
    }

    /// Begin an activity. Whatever was frozen goes on.
    pub fn begin(&self, activity: Activity) {
        let mut state = lock(&self.state);
        if state.frozen {
            let _ = self.freeze.write_all_at(b"0", 0);
        }
        *state = State {
            activity,
            ..State::default()
        };
    }

    /// Look at what has been used, and do what must be done about it.
    pub fn look(&self) -> Option<Measure> {
        let mut state = lock(&self.state);
        if state.activity == Activity::Away || state.frozen || state.used_up {
            return None;
        }
        let used = self.used()?;
        let used = used.saturating_sub(*state.since.get_or_insert(used));
        match state.activity {
            Activity::Ready if used > UNCALLED => {
                state.frozen = self.freeze.write_all_at(b"1", 0).is_ok();
                state.frozen.then_some(Measure::Frozen)
            }
            Activity::Called if used > self.most => {
                state.used_up = true;
                self.kill();
                Some(Measure::Killed)
            }
            _ => None,
        }
    }

    /// Return true if the worker was killed for the CPU time of its call.
    pub fn is_used_up(&self) -> bool {
        lock(&self.state).used_up
    }

    /// Kill every process in the group and below it, also those that are being made.
    pub fn kill(&self) {
        let _ = self.kill.write_all_at(b"1", 0);
    }

    fn used(&self) -> Option<Duration> {
        let text = contents(&self.usage).ok()?;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "))?;
        value.trim().parse().ok().map(Duration::from_micros)
    }
}
