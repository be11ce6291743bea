//! Looks at the CPU time of workers, which no call waits for: what nobody has called must not compute,
//! and what is called not for ever.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::cgroup::SlotGroup;

/// Time between two looks at least, and for each group.
const TICK: Duration = Duration::from_millis(100);
const EACH: Duration = Duration::from_millis(2);

/// Watches slots until all who could add one are gone.
#[derive(Clone)]
pub struct Warden(Sender<Weak<SlotGroup>>);

impl Warden {
    /// With a thread of its own.
    ///
    /// # Errors
    ///
    /// The kernel's, when there can be no more threads.
    pub fn new() -> std::io::Result<Self> {
        let (sender, added) = channel();
        let thread = std::thread::Builder::new().name("warden".into());
        thread.spawn(move || keep_looking(&added))?;
        Ok(Warden(sender))
    }

    /// Watch a slot until it is gone.
    pub fn watch(&self, group: &Arc<SlotGroup>) {
        let _ = self.0.send(Arc::downgrade(group));
    }
}

fn keep_looking(added: &Receiver<Weak<SlotGroup>>) {
    let mut watched: Vec<Weak<SlotGroup>> = Vec::new();
    loop {
        let next = if watched.is_empty() {
            added.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            added.recv_timeout(TICK.max(EACH * watched.len() as u32))
        };
        match next {
            Ok(slot) => {
                watched.push(slot);
                watched.extend(added.try_iter());
            }
            Err(RecvTimeoutError::Timeout) => watched.retain(look),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Return false once the slot is gone.
fn look(group: &Weak<SlotGroup>) -> bool {
    let group = group.upgrade();
    if let Some(group) = &group {
        group.look();
    }
    group.is_some()
}
