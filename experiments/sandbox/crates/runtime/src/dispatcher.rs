//! The side of a loaded binary that its callers are on: it takes what keepers say of their workers.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::failure::Failure;
use crate::lock::lock;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::order::Event;
use crate::pool::{Pool, Ready};

/// The time that a keeper may take to answer, which can have others to start meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// A keeper's number, and a place at it.
type Address = (usize, usize);

/// The workers that calls can have, and what is known of the others.
pub struct Dispatcher {
    /// The ready ones.
    pub pool: Pool,
    /// Counters.
    pub metrics: Metrics,
    log: Mutex<Option<Log>>,
    /// The workers about whose end somebody waits for an answer.
    asked: Mutex<HashMap<Address, Sender<Failure>>>,
}

impl Dispatcher {
    /// Without workers.
    pub fn new(pool: Pool, log: Option<Log>) -> Arc<Self> {
        Arc::new(Dispatcher {
            pool,
            metrics: Metrics::default(),
            log: Mutex::new(log),
            asked: Mutex::default(),
        })
    }

    /// Take what the keeper of that number says. Return a place whose worker nobody will ever call.
    pub fn take(&self, keeper: usize, event: Event) -> Option<usize> {
        match event {
            Event::Ready {
                place,
                callee,
                refill,
                reaped,
            } => {
                if let Some(reaped) = reaped {
                    self.metrics.reaped(reaped);
                }
                self.metrics.ready(refill);
                let ready = Ready {
                    place,
                    keeper,
                    callee,
                    client: None,
                };
                return self.pool.put(ready).map(|ready| ready.place);
            }
            Event::Unreachable { place } => {
                self.pool.despair("no more descriptors");
                return Some(place);
            }
            Event::Reaped(reaped) => self.metrics.reaped(reaped),
            Event::Failed => self.metrics.failed_start(),
            Event::Hopeless(why) => self.pool.despair(&why),
            Event::Log(line) => {
                if let Some(log) = &*lock(&self.log) {
                    log.take(line);
                }
            }
            Event::Ended { place, how } => {
                if let Some(waits) = lock(&self.asked).remove(&(keeper, place)) {
                    let _ = waits.send(how);
                }
            }
        }
        None
    }

    /// Wait for the answer how a worker ended, which `ask` asks for.
    pub fn wait_for_end(&self, address: Address, ask: impl FnOnce()) -> Failure {
        let (sender, answer) = channel();
        lock(&self.asked).insert(address, sender);
        ask();
        let unknown = || Failure::Died("for an unknown reason".into());
        answer.recv_timeout(PATIENCE).unwrap_or_else(|_| unknown())
    }

    /// Return the bytes that workers have said so far, where that is kept.
    pub fn said(&self) -> u64 {
        lock(&self.log).as_ref().map_or(0, Log::said)
    }

    /// No keeper is left: whoever waits for an answer gets none, and all that was said is written when this
    /// is done.
    pub fn end(&self) {
        lock(&self.asked).clear();
        drop(lock(&self.log).take());
    }
}
