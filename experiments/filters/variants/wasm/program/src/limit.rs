//! The limit on a guest's run time: `WASM_LIMIT`.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;
use std::{env, mem, ptr, thread};

use wasmtime::{Config, Engine, Store, Trap};

/// A guest may run for between one of these and two.
const TICK: Duration = Duration::from_millis(10);
/// Instructions, about, that one call may take: the filter takes 3000 for a prefix of 4 KB.
const FUEL: u64 = 1_000_000;

/// The kind of a call's limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// By a clock that a thread of the worker moves on.
    Epoch,
    /// By counting instructions.
    Fuel,
    /// Not at all.
    None,
}

impl Limit {
    /// Return the limit that `WASM_LIMIT` chooses; by default the clock.
    pub fn chosen() -> Result<Self, String> {
        match env::var("WASM_LIMIT").as_deref() {
            Ok("epoch") | Err(env::VarError::NotPresent) => Ok(Self::Epoch),
            Ok("fuel") => Ok(Self::Fuel),
            Ok("none") => Ok(Self::None),
            other => Err(format!(
                "WASM_LIMIT: found {:?}, expected epoch, fuel or none",
                other.unwrap_or("bytes that are no text")
            )),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoch => "epoch",
            Self::Fuel => "fuel",
            Self::None => "none",
        }
    }

    /// Modules must have been compiled with the same settings.
    pub fn configure(self, config: &mut Config) {
        config.epoch_interruption(self == Self::Epoch);
        config.consume_fuel(self == Self::Fuel);
    }

    /// Begin a call.
    pub fn begin<T>(self, store: &mut Store<T>) -> Result<(), String> {
        match self {
            Self::Epoch => store.set_epoch_deadline(2),
            Self::Fuel => store.set_fuel(FUEL).map_err(|error| error.to_string())?,
            Self::None => {}
        }
        Ok(())
    }

    /// A trap in words.
    pub fn explain(self, trap: Trap) -> String {
        match trap {
            Trap::Interrupt => format!("it ran for more than {} ms", TICK.as_millis()),
            Trap::OutOfFuel => format!("it ran for more than {FUEL} instructions"),
            other => other.to_string(),
        }
    }
}

/// Moves the clock on until it is dropped.
pub struct Clock(#[allow(dead_code)] Sender<()>);

impl Clock {
    /// Start the thread, in which no signal is handled: nginx's main thread waits for them.
    pub fn start(engine: &Engine) -> Result<Self, String> {
        let engine = engine.clone();
        let (alive, dropped) = mpsc::channel::<()>();
        let tick = move || {
            while dropped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        };
        // SAFETY: sigset_t is plain data, which sigfillset fills, and the mask is restored.
        let started = unsafe {
            let (mut all, mut before) = (mem::zeroed(), mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let started = thread::Builder::new().name("wasm clock".into()).spawn(tick);
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
            started
        };
        started.map_err(|error| format!("no thread for the guest's clock: {error}"))?;
        Ok(Self(alive))
    }
}
