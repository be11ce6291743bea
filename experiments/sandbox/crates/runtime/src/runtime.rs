//! The runtime: handles of loaded binaries.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::binary::Binary;
use crate::call::{Caller, HostFunctions};
use crate::crew::Keepers;
use crate::dispatcher::Dispatcher;
use crate::failure::Failure;
use crate::host::Host;
use crate::launcher::Launcher;
use crate::line::Line;
use crate::loaded::{Loaded, Served, Settings};
use crate::lock::lock;
use crate::log::Log;
use crate::metrics::{Elsewhere, Report};
use crate::mode::Mode;
use crate::pool::Pool;
use crate::wanted::Wanted;

/// Loads binaries in one mode, and calls them.
pub struct Runtime {
    workers: Workers,
    functions: Arc<HostFunctions>,
    handles: Mutex<BTreeMap<String, Arc<Loaded>>>,
}

/// The process that starts workers.
enum Workers {
    /// This process.
    Here(Arc<Host>),
    /// Another process, with rights that this one has not.
    There(Arc<Launcher>),
}

impl Runtime {
    /// A runtime of one process, whose mode has been tried: it started, verified, called and collected a worker.
    ///
    /// # Errors
    ///
    /// Why the mode does not work here, in words. Nothing falls back on another.
    pub fn new(mode: Box<dyn Mode>, functions: HostFunctions) -> Result<Self, String> {
        Self::of(Arc::new(Host::new(mode)?), functions)
    }

    /// A runtime whose workers `host` starts, with a mode that has been tried.
    ///
    /// # Errors
    ///
    /// As of [`Runtime::new`].
    pub fn of(host: Arc<Host>, functions: HostFunctions) -> Result<Self, String> {
        let made = Self::with(Workers::Here(host), functions);
        made.probe()
            .map_err(|why| format!("mode {} does not work here: {why}", made.mode().name()))?;
        Ok(made)
    }

    /// A runtime whose workers another process starts, which has tried the mode.
    pub fn with_launcher(launcher: Arc<Launcher>, functions: HostFunctions) -> Self {
        Self::with(Workers::There(launcher), functions)
    }

    fn with(workers: Workers, functions: HostFunctions) -> Self {
        Runtime {
            workers,
            functions: Arc::new(functions),
            handles: Mutex::default(),
        }
    }

    /// The mode.
    pub fn mode(&self) -> &dyn Mode {
        match &self.workers {
            Workers::Here(host) => host.mode(),
            Workers::There(launcher) => launcher.mode(),
        }
    }

    fn probe(&self) -> Result<(), String> {
        let Some(binary) = self.mode().trial() else {
            return Ok(());
        };
        let settings = Settings {
            workers: 1,
            ..Settings::default()
        };
        self.load("trial", Binary::new(binary)?, settings)?;
        let caller = Arc::new(Caller::new(None).map_err(|error| error.to_string())?);
        let outcome = self.call("trial", b"", &caller, None).outcome.clone();
        self.unload("trial");
        outcome.map(drop).map_err(|failure| failure.to_string())
    }

    /// Load `binary` under the handle `name`; it has a worker ready that was looked at when this
    /// returns.
    ///
    /// # Errors
    ///
    /// The reason, in words. Nothing of it is then left.
    pub fn load(&self, name: &str, binary: Binary, settings: Settings) -> Result<(), String> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let keepers = settings
            .keepers
            .unwrap_or_else(|| self.mode().keepers(settings.workers, cpus));
        let wanted = Wanted {
            limits: settings.limits.clone(),
            is_logged: settings.log.is_some(),
            workers: settings.workers,
            keepers: keepers.min(settings.workers).max(1),
        };
        wanted.check()?;
        if settings.log.is_some() && !self.mode().has_logs() {
            return Err(format!(
                "mode {} cannot keep the standard error of its functions; load without --log",
                self.mode().name()
            ));
        }
        if self.lock().contains_key(name) {
            return Err(format!(
                "a binary is loaded as {name:?} already; unload it first, or choose another name"
            ));
        }
        self.mode().accept(&binary, &settings.limits)?;
        let loaded = Arc::new(self.start(&wanted, Arc::new(binary), settings)?);
        if let Err(why) = first_ready(&loaded) {
            loaded.end(Failure::Unloaded);
            return Err(why);
        }
        let mut handles = self.lock();
        if handles.contains_key(name) {
            drop(handles);
            loaded.end(Failure::Unloaded);
            return Err(format!("a binary has been loaded as {name:?} meanwhile"));
        }
        handles.insert(name.to_owned(), loaded);
        Ok(())
    }

    fn start(
        &self,
        wanted: &Wanted,
        binary: Arc<Binary>,
        settings: Settings,
    ) -> Result<Loaded, String> {
        let (most, rate) = (settings.limits.log_bytes, settings.limits.log_rate);
        let log = settings.log.clone().map(|open| Log::new(open, most, rate));
        let pool = Pool::new(settings.queue, settings.share);
        let dispatcher = Dispatcher::new(pool, log.transpose()?);
        let keepers: Box<dyn Keepers> = match &self.workers {
            Workers::Here(host) => {
                let line = |_| Ok(Line::Here(dispatcher.clone()));
                Box::new(host.start(wanted, binary, &line)?)
            }
            Workers::There(launcher) => Box::new(launcher.start(wanted, &binary, &dispatcher)?),
        };
        Ok(Loaded {
            limits: Arc::new(settings.limits.clone()),
            settings,
            dispatcher,
            keepers,
        })
    }

    /// Call the binary loaded as `name`; `deadline` can only shorten that of its limits.
    pub fn call(
        &self,
        name: &str,
        request: &[u8],
        caller: &Arc<Caller>,
        deadline: Option<Duration>,
    ) -> Served {
        let found = self.lock().get(name).cloned();
        let Some(loaded) = found else {
            return Served::none(Failure::Unloaded);
        };
        loaded.call(request, caller, deadline, &self.functions)
    }

    /// End the handle `name` after the calls under way; false when there is none.
    pub fn unload(&self, name: &str) -> bool {
        let found = self.lock().remove(name);
        match found {
            Some(loaded) => {
                loaded.end(Failure::Unloaded);
                true
            }
            None => false,
        }
    }

    /// Statistics of every handle.
    pub fn stats(&self, anew: bool) -> BTreeMap<String, Report> {
        let report = |loaded: &Loaded| {
            let (ready, waiting) = loaded.dispatcher.pool.counts();
            let elsewhere = Elsewhere {
                ready,
                waiting,
                log_bytes: loaded.dispatcher.said(),
                frozen: loaded.keepers.frozen(),
            };
            loaded.dispatcher.metrics.report(elsewhere, anew)
        };
        self.lock()
            .iter()
            .map(|(name, loaded)| (name.clone(), report(loaded)))
            .collect()
    }

    /// End all handles after the calls under way, for good; calls that wait fail at once.
    pub fn stop(&self) {
        let all = std::mem::take(&mut *self.lock());
        for loaded in all.values() {
            loaded.close(Failure::Stopping);
        }
        for loaded in all.values() {
            loaded.end(Failure::Stopping);
        }
        if let Workers::Here(host) = &self.workers {
            host.remove();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Loaded>>> {
        lock(&self.handles)
    }
}

/// Wait for the first worker, which its keeper has looked at.
fn first_ready(loaded: &Arc<Loaded>) -> Result<(), String> {
    let caller = Arc::new(Caller::new(None).map_err(|error| error.to_string())?);
    let until = Instant::now() + loaded.settings.limits.start + Duration::from_secs(1);
    let pool = &loaded.dispatcher.pool;
    let ready = pool.take(&caller, until).map_err(|failure| match failure {
        Failure::NotReady(why) => why,
        other => other.to_string(),
    })?;
    if let Some(ready) = pool.put(ready) {
        loaded.back(ready);
    }
    Ok(())
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop();
    }
}
