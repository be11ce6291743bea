//! Makes running guests look up now and then, so that a deadline can end them: moves the engine's
//! epoch while any guest runs, and sleeps while none does.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::Engine;

/// The largest lateness of a deadline.
const TICK: Duration = Duration::from_millis(5);
/// Ticks without a guest after which it sleeps.
const IDLE: u32 = 40;

/// Ticks for one engine, until it is dropped.
pub struct Ticker {
    state: Arc<State>,
    thread: Thread,
}

#[derive(Default)]
struct State {
    /// The number of runs. A guest that runs longer is interrupted and run again.
    runs: AtomicU64,
    asleep: AtomicBool,
    over: AtomicBool,
}

impl Ticker {
    /// For the guests of `engine`.
    ///
    /// # Errors
    ///
    /// The kernel's, when there can be no more threads.
    pub fn new(engine: &Engine) -> io::Result<Self> {
        let state = Arc::<State>::default();
        let (engine, shared) = (engine.weak(), state.clone());
        let thread = thread::Builder::new()
            .name("ticker".into())
            .spawn(move || {
                let (mut seen, mut idle) = (0, 0);
                while !shared.over.load(Ordering::SeqCst) {
                    thread::sleep(TICK);
                    let Some(engine) = engine.upgrade() else {
                        return;
                    };
                    engine.increment_epoch();
                    drop(engine);
                    let runs = shared.runs.load(Ordering::SeqCst);
                    idle = if runs == seen { idle + 1 } else { 0 };
                    seen = runs;
                    if idle >= IDLE {
                        shared.sleep(seen);
                        idle = 0;
                    }
                }
            })?;
        Ok(Ticker {
            state,
            thread: thread.thread().clone(),
        })
    }

    /// A guest is about to run.
    pub fn running(&self) {
        self.state.runs.fetch_add(1, Ordering::SeqCst);
        if self.state.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

impl State {
    /// Until a guest runs that has not been seen.
    fn sleep(&self, seen: u64) {
        self.asleep.store(true, Ordering::SeqCst);
        while self.runs.load(Ordering::SeqCst) == seen && !self.over.load(Ordering::SeqCst) {
            thread::park();
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}
