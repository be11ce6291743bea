//! Ready workers, and calls in the order in which they came. A worker that gets ready goes to the
//! call that has waited longest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::call::Caller;
use crate::cgroup::SlotGroup;
use crate::failure::Failure;
use crate::mode::Worker;

/// A worker that waits for its call, and the place that it must go back to.
pub struct Ready {
    /// Number of its place at its keeper.
    pub place: usize,
    /// Its keeper's number.
    pub keeper: usize,
    /// The groups of its slot.
    pub group: Arc<SlotGroup>,
    /// The worker.
    pub worker: Box<dyn Worker>,
}

/// The ready workers of one handle.
pub struct Pool {
    state: Mutex<State>,
    /// Calls that may wait.
    depth: usize,
}

#[derive(Default)]
struct State {
    ready: Vec<Ready>,
    waiting: VecDeque<Arc<Seat>>,
    closed: Option<Failure>,
    /// The reason why no worker becomes ready, while none does.
    trouble: Option<String>,
}

struct Seat {
    caller: Arc<Caller>,
    given: Mutex<Option<Result<Ready, Failure>>>,
}

impl Pool {
    /// Without workers; at most `depth` calls wait.
    pub fn new(depth: usize) -> Self {
        Pool {
            state: Mutex::default(),
            depth,
        }
    }

    /// A worker for `caller`, when there is one.
    ///
    /// # Errors
    ///
    /// When there is none in time, too many wait already, or none can be made.
    pub fn take(&self, caller: &Arc<Caller>, until: Instant) -> Result<Ready, Failure> {
        let seat = {
            let mut state = self.lock();
            if let Some(failure) = &state.closed {
                return Err(failure.clone());
            }
            // The one that was started last is the one whose memory is still in the caches.
            if let Some(ready) = state.ready.pop() {
                return Ok(ready);
            }
            if let Some(why) = &state.trouble {
                return Err(Failure::NotReady(why.clone()));
            }
            if state.waiting.len() >= self.depth {
                return Err(Failure::Busy);
            }
            let seat = Arc::new(Seat {
                caller: caller.clone(),
                given: Mutex::new(None),
            });
            state.waiting.push_back(seat.clone());
            seat
        };
        loop {
            let waited = caller.wait(None, until);
            let mut state = self.lock();
            if let Some(given) = lock(&seat.given).take() {
                match (given, waited) {
                    (Ok(ready), Err(failure)) => {
                        state.give(ready);
                        return Err(failure);
                    }
                    (given, _) => return given,
                }
            }
            if let Err(failure) = waited {
                state.waiting.retain(|each| !Arc::ptr_eq(each, &seat));
                return Err(failure);
            }
        }
    }

    /// Take in a worker that got ready; one that nobody will ever need comes back.
    pub fn put(&self, ready: Ready) -> Option<Ready> {
        let mut state = self.lock();
        if state.closed.is_some() {
            return Some(ready);
        }
        state.trouble = None;
        state.give(ready);
        None
    }

    /// No worker gets ready for now: calls fail with the reason instead of waiting.
    pub fn despair(&self, why: &str) {
        let mut state = self.lock();
        state.trouble = Some(why.to_owned());
        if state.ready.is_empty() {
            state.dismiss(&Failure::NotReady(why.to_owned()));
        }
    }

    /// Serve no call any more; the workers that are left.
    pub fn close(&self, why: Failure) -> Vec<Ready> {
        let mut state = self.lock();
        state.dismiss(&why);
        state.closed = Some(why);
        std::mem::take(&mut state.ready)
    }

    /// Return the numbers of ready workers and of waiting calls.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.ready.len(), state.waiting.len())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn give(&mut self, ready: Ready) {
        match self.waiting.pop_front() {
            Some(seat) => seat.give(Ok(ready)),
            None => self.ready.push(ready),
        }
    }

    fn dismiss(&mut self, why: &Failure) {
        for seat in self.waiting.drain(..) {
            seat.give(Err(why.clone()));
        }
    }
}

impl Seat {
    fn give(&self, what: Result<Ready, Failure>) {
        *lock(&self.given) = Some(what);
        self.caller.wake();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Attempt, Terms};
    use std::os::fd::RawFd;
    use std::time::Duration;

    struct Nobody;

    impl Worker for Nobody {
        fn readiness(&self) -> Option<RawFd> {
            None
        }
        fn read_ready(&mut self) -> Result<bool, String> {
            Ok(true)
        }
        fn call(&mut self, _: &[u8], _: &Terms) -> Attempt {
            unreachable!("nobody is called")
        }
        fn kill(&mut self) {}
        fn end(&self) -> Option<RawFd> {
            None
        }
        fn reap(&mut self) -> u64 {
            0
        }
        fn pid(&self) -> Option<i32> {
            None
        }
    }

    fn ready(place: usize) -> Ready {
        Ready {
            place,
            keeper: 0,
            group: Arc::default(),
            worker: Box::new(Nobody),
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(20)
    }

    fn late() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn caller() -> Arc<Caller> {
        Arc::new(Caller::new(None).unwrap())
    }

    #[test]
    fn the_last_to_get_ready_is_taken_first() {
        let pool = Pool::new(0);
        assert!(pool.put(ready(1)).is_none() && pool.put(ready(2)).is_none());
        let places = [(); 2].map(|()| pool.take(&caller(), late()).map(|ready| ready.place).ok());
        assert_eq!(places, [Some(2), Some(1)]);
        assert_eq!(pool.take(&caller(), late()).err(), Some(Failure::Busy));
    }

    #[test]
    fn who_waits_gets_the_next_worker_or_the_deadline_or_the_end() {
        let pool = Pool::new(1);
        assert_eq!(pool.take(&caller(), soon()).err(), Some(Failure::Deadline));
        assert_eq!(pool.counts(), (0, 0));
        let waits = |act: &(dyn Fn() + Sync)| {
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| pool.take(&caller(), late()).map(|ready| ready.place));
                while pool.counts().1 == 0 {
                    std::thread::yield_now();
                }
                assert_eq!(pool.take(&caller(), late()).err(), Some(Failure::Busy));
                act();
                waiting.join().unwrap()
            })
        };
        assert_eq!(waits(&|| assert!(pool.put(ready(7)).is_none())), Ok(7));
        let trouble = Failure::NotReady("why".into());
        assert_eq!(waits(&|| pool.despair("why")), Err(trouble.clone()));
        assert_eq!(pool.take(&caller(), late()).err(), Some(trouble));
        assert!(pool.put(ready(8)).is_none());
        assert_eq!(pool.take(&caller(), late()).map(|ready| ready.place), Ok(8));
        assert_eq!(
            waits(&|| drop(pool.close(Failure::Stopping))),
            Err(Failure::Stopping)
        );
        assert!(pool.put(ready(9)).is_some());
    }

    #[test]
    fn who_cancels_waits_no_longer() {
        let pool = Pool::new(1);
        let who = caller();
        who.cancel();
        assert_eq!(pool.take(&who, late()).err(), Some(Failure::Cancelled));
        assert_eq!(pool.counts(), (0, 0));
    }
}
