//! Looks at the CPU time of workers, which no call waits for: what nobody has called must not compute,
//! and what is called not for ever.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

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
    let mut rounds = Rounds::new();
    loop {
        let next = match rounds.left(Instant::now()) {
            None => added.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(left) => added.recv_timeout(left),
        };
        match next {
            Ok(slot) => {
                for each in std::iter::once(slot).chain(added.try_iter()) {
                    rounds.add(each, Instant::now());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // Not only if nothing was added: others may load again and again.
        if rounds.left(Instant::now()) == Some(Duration::ZERO) {
            rounds.look(SlotGroup::look);
            rounds.done(Instant::now());
        }
    }
}

/// The slots that are watched, and the time of the next look at all of them.
struct Rounds<T> {
    watched: Vec<Weak<T>>,
    due: Option<Instant>,
}

impl<T> Rounds<T> {
    fn new() -> Self {
        Rounds {
            watched: Vec::new(),
            due: None,
        }
    }

    /// Watch one more. The next look is no later for that.
    fn add(&mut self, slot: Weak<T>, now: Instant) {
        self.watched.push(slot);
        self.due.get_or_insert(now + TICK);
    }

    /// Return the time until the next look; none if nothing is watched.
    fn left(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }

    /// Look at all that are still there.
    fn look(&mut self, look: impl Fn(&T)) {
        self.watched.retain(|slot| {
            let slot = slot.upgrade();
            slot.inspect(|slot| look(slot)).is_some()
        });
    }

    /// A look is over: begin to wait for the next one.
    fn done(&mut self, now: Instant) {
        let count = self.watched.len() as u32;
        self.due = (count > 0).then(|| now + TICK.max(EACH * count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn who_loads_again_and_again_puts_no_look_off() {
        let (mut rounds, begun, slot) = (Rounds::new(), Instant::now(), Arc::new(()));
        assert_eq!(rounds.left(begun), None);
        for count in 0..10 {
            rounds.add(Arc::downgrade(&slot), begun + TICK * count / 5);
        }
        assert_eq!(rounds.left(begun), Some(TICK));
        assert_eq!(rounds.left(begun + TICK), Some(Duration::ZERO));
    }

    #[test]
    fn looks_are_further_apart_the_more_slots_there_are() {
        let (mut rounds, now, looks) = (Rounds::new(), Instant::now(), Cell::new(0));
        let slots: Vec<Arc<()>> = (0..100).map(|_| Arc::default()).collect();
        for slot in &slots {
            rounds.add(Arc::downgrade(slot), now);
        }
        let look = |rounds: &mut Rounds<()>| {
            rounds.look(|()| looks.set(looks.get() + 1));
            rounds.done(now);
        };
        look(&mut rounds);
        assert_eq!((looks.get(), rounds.left(now)), (100, Some(EACH * 100)));
        drop(slots);
        look(&mut rounds);
        assert_eq!((looks.get(), rounds.left(now)), (100, None));
    }
}
