//! One loaded binary: its workers, its calls, its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::budget::Share;
use crate::call::{Caller, HostFunctions, Terms};
use crate::crew::Keepers;
use crate::dispatcher::Dispatcher;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::metrics::Phase;
use crate::opener::Opener;
use crate::order::{Order, now};
use crate::pool::{PerClient, Ready};

/// The settings of a loaded binary.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Workers that are kept ready.
    pub workers: usize,
    /// Calls that may wait for one.
    pub queue: usize,
    /// The most that one client has of both.
    pub share: PerClient,
    /// Threads that refill; as the mode has it if none.
    pub keepers: Option<usize>,
    /// The limits of each call.
    pub limits: Limits,
    /// True if the binary calls functions of the host, and wraps what it says accordingly.
    pub callbacks: bool,
    /// Opens the file that keeps what the binary says on standard error; nothing does if none.
    pub log: Option<Opener>,
    /// Its part of the memory of all binaries, for as long as it is loaded.
    pub share_of_memory: Option<Arc<Share>>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            workers: 10,
            queue: 1000,
            share: PerClient::ALL,
            keepers: None,
            limits: Limits::default(),
            callbacks: false,
            log: None,
            share_of_memory: None,
        }
    }
}

/// A binary that is loaded: its workers, and who refills them.
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    pub(crate) limits: Arc<Limits>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) keepers: Box<dyn Keepers>,
}

/// A call that has ended. Its worker goes back to be collected when this is dropped, so that a caller who
/// waits for the response need not wait for that.
pub struct Served {
    /// The response, or why there is none.
    pub outcome: Result<Vec<u8>, Failure>,
    /// Its parts and how long they took.
    pub times: Vec<(Phase, Duration)>,
    /// The limits that it had; none if no binary has seen it.
    pub limits: Option<Arc<Limits>>,
    spent: Option<(Arc<Loaded>, Ready)>,
}

impl Served {
    /// A call that no binary has seen.
    pub(crate) fn none(why: Failure) -> Self {
        Served {
            outcome: Err(why),
            times: Vec::new(),
            limits: None,
            spent: None,
        }
    }

    /// Return true if a worker has served it, or tried to.
    pub fn had_a_worker(&self) -> bool {
        self.spent.is_some()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some((loaded, ready)) = self.spent.take() {
            loaded.back(ready);
        }
    }
}

impl Loaded {
    /// One call; `deadline` can only shorten that of its limits.
    pub(crate) fn call(
        self: Arc<Self>,
        request: &[u8],
        caller: &Arc<Caller>,
        deadline: Option<Duration>,
        functions: &Arc<HostFunctions>,
    ) -> Served {
        let limits = &self.limits;
        let begun = Instant::now();
        let terms = Terms {
            caller: caller.clone(),
            until: begun + deadline.map_or(limits.deadline, |wanted| wanted.min(limits.deadline)),
            limits: limits.clone(),
            functions: self.settings.callbacks.then(|| functions.clone()),
        };
        if request.len() > limits.request_bytes {
            return self.served(Err(Failure::RequestTooLong), Vec::new(), false, None);
        }
        let mut tries = 0;
        loop {
            let mut ready = match self.dispatcher.pool.take(caller, terms.until) {
                Ok(ready) => ready,
                Err(failure) => {
                    let times = vec![(Phase::Wait, begun.elapsed())];
                    return self.served(Err(failure), times, false, None);
                }
            };
            let wait = begun.elapsed();
            let address = (ready.keeper, ready.place);
            self.keepers.call(ready.keeper, ready.place);
            let attempt = ready.callee.call(request, &terms, || self.how(address));
            tries += 1;
            // A worker that ended while nobody called it is no fault of the call.
            if matches!(attempt.outcome, Err(Failure::NotReady(_)))
                && tries <= self.settings.workers
            {
                self.back(ready);
                continue;
            }
            let times = vec![
                (Phase::Wait, wait),
                (Phase::Send, attempt.send),
                (Phase::Execute, attempt.execute),
            ];
            return self.served(attempt.outcome, times, attempt.shared, Some(ready));
        }
    }

    fn served(
        self: &Arc<Self>,
        outcome: Result<Vec<u8>, Failure>,
        times: Vec<(Phase, Duration)>,
        shared: bool,
        ready: Option<Ready>,
    ) -> Served {
        // A caller that has the response finds it counted.
        self.dispatcher.metrics.called(&outcome, &times, shared);
        Served {
            outcome,
            times,
            limits: Some(self.limits.clone()),
            spent: ready.map(|ready| (self.clone(), ready)),
        }
    }

    /// Ask how a worker ended, which has closed its socket.
    fn how(&self, (keeper, place): (usize, usize)) -> Failure {
        let ask = || self.keepers.order(keeper, Order::Why { place });
        self.dispatcher.wait_for_end((keeper, place), ask)
    }

    /// Give a worker back to who collects it.
    pub(crate) fn back(&self, ready: Ready) {
        if let Some(client) = ready.client {
            self.dispatcher.pool.done(client);
        }
        let (keeper, place) = (ready.keeper, ready.place);
        // Its keeper is the last to have it.
        drop(ready.callee);
        let since = now();
        self.keepers.order(keeper, Order::Spent { place, since });
    }

    /// Take no more calls, and lets those that wait fail.
    pub(crate) fn close(&self, why: Failure) {
        for ready in self.dispatcher.pool.close(why) {
            self.back(ready);
        }
        self.keepers.stop();
    }

    /// End it after the calls under way.
    pub(crate) fn end(&self, why: Failure) {
        self.close(why);
        self.keepers.end();
        self.dispatcher.end();
    }
}
