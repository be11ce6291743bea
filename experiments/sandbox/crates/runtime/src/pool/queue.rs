//! Ready workers, and calls that wait for one. A worker that gets ready goes to the client that has the
//! fewest, and of its calls to the one that has waited longest.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::call::Caller;
use crate::callee::Callee;
use crate::failure::Failure;

/// A worker that waits for its call, and the place that it must go back to.
pub struct Ready {
    /// Number of its place at its keeper.
    pub place: usize,
    /// Its keeper's number.
    pub keeper: usize,
    /// Its end for the call.
    pub callee: Callee,
    /// The client that has it, if one does.
    pub client: Option<u64>,
}

/// The most that one client has of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerClient {
    /// Calls at once, those that wait included.
    pub calls: usize,
    /// Workers at once.
    pub workers: usize,
}

impl PerClient {
    /// All there is.
    pub const ALL: PerClient = PerClient {
        calls: usize::MAX,
        workers: usize::MAX,
    };
}

/// The ready workers of one handle.
pub struct Pool {
    state: Mutex<State>,
    /// Calls that may wait.
    depth: usize,
    share: PerClient,
}

#[derive(Default)]
struct State {
    ready: Vec<Ready>,
    waiting: VecDeque<Arc<Seat>>,
    /// Workers of each client that has some.
    taken: HashMap<u64, usize>,
    closed: Option<Failure>,
    /// The reason why no worker becomes ready, while none does.
    trouble: Option<String>,
}

struct Seat {
    caller: Arc<Caller>,
    given: Mutex<Option<Result<Ready, Failure>>>,
}

impl Pool {
    /// Without workers; at most `depth` calls wait, and no client has more than `share`.
    pub fn new(depth: usize, share: PerClient) -> Self {
        Pool {
            state: Mutex::default(),
            depth,
            share,
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
            let client = caller.client();
            if state.calls(client) >= self.share.calls {
                return Err(Failure::PerClient);
            }
            // The one that was started last is the one whose memory is still in the caches.
            if state.taken(client) < self.share.workers
                && let Some(ready) = state.ready.pop()
            {
                return Ok(state.take(ready, client));
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
                        state.put(ready, self.share);
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
        state.put(ready, self.share);
        None
    }

    /// A client has done with a worker, which is not ready again.
    pub fn done(&self, client: u64) {
        let mut state = self.lock();
        state.release(client);
        // One of its own calls may have waited for no more than that.
        if let Some(ready) = state.ready.pop() {
            state.give(ready, self.share);
        }
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
    fn put(&mut self, mut ready: Ready, share: PerClient) {
        if let Some(client) = ready.client.take() {
            self.release(client);
        }
        self.give(ready, share);
    }

    fn give(&mut self, ready: Ready, share: PerClient) {
        let waiting = self.waiting.iter().enumerate();
        let next = waiting
            .map(|(index, seat)| (self.taken(seat.caller.client()), index))
            .filter(|(taken, _)| *taken < share.workers)
            .min();
        match next.and_then(|(_, index)| self.waiting.remove(index)) {
            Some(seat) => {
                let ready = self.take(ready, seat.caller.client());
                seat.give(Ok(ready));
            }
            None => self.ready.push(ready),
        }
    }

    fn take(&mut self, mut ready: Ready, client: u64) -> Ready {
        *self.taken.entry(client).or_default() += 1;
        ready.client = Some(client);
        ready
    }

    fn release(&mut self, client: u64) {
        if let Some(taken) = self.taken.get_mut(&client) {
            *taken -= 1;
            if *taken == 0 {
                self.taken.remove(&client);
            }
        }
    }

    fn taken(&self, client: u64) -> usize {
        self.taken.get(&client).copied().unwrap_or(0)
    }

    fn calls(&self, client: u64) -> usize {
        let own = |seat: &&Arc<Seat>| seat.caller.client() == client;
        self.taken(client) + self.waiting.iter().filter(own).count()
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
mod tests;
