//! The CPU time of a slot's processes together. What they use beyond their limit ends them; what they
//! use before they are called stops them until then.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use super::files::{access, contents};
use crate::board::Mark;
use crate::lock::lock;

/// CPU time that a worker may use between its ready byte and its call.
const UNCALLED: Duration = Duration::from_millis(20);

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
    /// The mark of a worker that is ready or called; none while it starts or ends, or there is none.
    mark: Option<Mark>,
    /// It is called. Whatever is written on its mark later, it stays so.
    called: bool,
    /// CPU time used when it was first seen ready, or first seen called.
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

    /// Begin with a worker that is ready, or without one that is. Whatever was frozen goes on.
    pub fn begin(&self, mark: Option<Mark>) {
        let mut state = lock(&self.state);
        self.let_go(&mut state);
        *state = State {
            mark,
            ..State::default()
        };
    }

    /// Let go on what was frozen.
    pub fn thaw(&self) {
        self.let_go(&mut lock(&self.state));
    }

    fn let_go(&self, state: &mut State) {
        if std::mem::take(&mut state.frozen) {
            let _ = self.freeze.write_all_at(b"0", 0);
        }
    }

    /// Look at what has been used, and do what must be done about it.
    pub fn look(&self) {
        let mut state = lock(&self.state);
        let Some(mark) = state.mark.clone().filter(|_| !state.used_up) else {
            return;
        };
        if !state.called && mark.is_called() {
            (state.called, state.since) = (true, None);
        }
        let Some(used) = self.used() else { return };
        let used = used.saturating_sub(*state.since.get_or_insert(used));
        if state.called && used > self.most {
            state.used_up = true;
            self.kill();
        }
        if !state.called && !state.frozen && used > UNCALLED {
            state.frozen = self.freeze.write_all_at(b"1", 0).is_ok();
            if state.frozen && !mark.freeze() {
                // It is called by now, by somebody who did not see it frozen.
                self.let_go(&mut state);
            }
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
