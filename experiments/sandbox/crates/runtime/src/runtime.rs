//! The runtime: handles of loaded binaries.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::binary::Binary;
use crate::call::{Caller, HostFunctions};
use crate::cgroup::{Bounds, Hierarchy, Share};
use crate::failure::Failure;
use crate::janitor::Janitor;
use crate::loaded::{Loaded, Served, Settings};
use crate::lock::lock;
use crate::log::Log;
use crate::metrics::{Metrics, Report};
use crate::mode::{Mode, Template};
use crate::numbers::{NUMBERS, OWN_NUMBERS};
use crate::pool::Pool;
use crate::pool::inbox::Inbox;
use crate::pool::keeper::{self, Duties};
use crate::scratch;
use crate::slot::Slot;
use crate::warden::Warden;

/// The most workers of one binary.
const WORKERS_MAX: usize = 4096;

/// Loads binaries in one mode, and calls them.
pub struct Runtime {
    mode: Box<dyn Mode>,
    functions: Arc<HostFunctions>,
    hierarchy: Arc<Hierarchy>,
    janitor: Janitor,
    warden: Warden,
    handles: Mutex<BTreeMap<String, Arc<Loaded>>>,
}

impl Runtime {
    /// A runtime whose mode has been tried: it started, verified, called and collected a worker.
    ///
    /// # Errors
    ///
    /// Why the mode does not work here, in words. Nothing falls back on another.
    pub fn new(mode: Box<dyn Mode>, functions: HostFunctions) -> Result<Self, String> {
        let janitor = Janitor::new().map_err(|error| error.to_string())?;
        let warden = Warden::new().map_err(|error| error.to_string())?;
        scratch::sweep();
        let hierarchy = if mode.has_processes() {
            Hierarchy::new()?
        } else {
            Hierarchy::of_no_processes()
        };
        let made = Runtime {
            hierarchy: Arc::new(hierarchy),
            mode,
            functions: Arc::new(functions),
            janitor,
            warden,
            handles: Mutex::default(),
        };
        made.probe()
            .map_err(|why| format!("mode {} does not work here: {why}", made.mode.name()))?;
        Ok(made)
    }

    /// The mode.
    pub fn mode(&self) -> &dyn Mode {
        &*self.mode
    }

    /// Limit the memory of this process, its workers' apart. Return false where it has no control group
    /// of its own.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be limited, in words.
    pub fn limit_own_memory(&self, bytes: u64) -> Result<bool, String> {
        self.hierarchy.limit_own(bytes)
    }

    /// Give each binary that is loaded from now on a share of the CPUs, all the same, however many workers it has.
    ///
    /// # Errors
    ///
    /// The reason why there can be none, in words.
    pub fn share_cpus(&self) -> Result<(), String> {
        self.hierarchy.share_cpus()
    }

    fn probe(&self) -> Result<(), String> {
        let Some(binary) = self.mode.trial() else {
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
        settings.limits.check()?;
        if !(1..=WORKERS_MAX).contains(&settings.workers) {
            return Err(format!(
                "workers: found {}, expected 1 to {WORKERS_MAX}",
                settings.workers
            ));
        }
        if settings.log.is_some() && !self.mode.has_logs() {
            return Err(format!(
                "mode {} cannot keep the standard error of its functions; load without --log",
                self.mode.name()
            ));
        }
        if self.lock().contains_key(name) {
            return Err(format!(
                "a binary is loaded as {name:?} already; unload it first, or choose another name"
            ));
        }
        let template = self.mode.prepare(Arc::new(binary), &settings.limits)?;
        let loaded = Arc::new(self.start(&template, settings)?);
        if let Err(why) = self.first_look(&loaded, &*template) {
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

    fn start(&self, template: &Arc<dyn Template>, settings: Settings) -> Result<Loaded, String> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let keepers = settings
            .keepers
            .unwrap_or_else(|| self.mode.keepers(settings.workers, cpus));
        let keepers = keepers.clamp(1, settings.workers);
        let (most, rate) = (settings.limits.log_bytes, settings.limits.log_rate);
        let log = settings.log.as_deref();
        let log = log.map(|path| Log::new(path, most, rate));
        let log = log.transpose()?.map(Arc::new);
        let source = if self.mode.has_processes() {
            &NUMBERS
        } else {
            &OWN_NUMBERS
        };
        let mut loaded = Loaded {
            pool: Arc::new(Pool::new(settings.queue, settings.share)),
            metrics: Arc::new(Metrics::default()),
            inboxes: Vec::new(),
            threads: Mutex::default(),
            groups: Mutex::default(),
            numbers: source.take(settings.workers)?,
            source,
            limits: Arc::new(settings.limits.clone()),
            log: Mutex::new(log),
            settings,
        };
        let share = self.hierarchy.share().map(|share| share.map(Arc::new));
        let share = share.inspect_err(|_| source.give_back(&loaded.numbers))?;
        for number in 0..keepers {
            let place = (number, keepers, share.clone());
            if let Err(why) = self.start_keeper(&mut loaded, template, place) {
                loaded.end(Failure::Unloaded);
                return Err(why);
            }
        }
        Ok(loaded)
    }

    fn start_keeper(
        &self,
        loaded: &mut Loaded,
        template: &Arc<dyn Template>,
        (number, keepers, share): (usize, usize, Option<Arc<Share>>),
    ) -> Result<(), String> {
        let limits = loaded.settings.limits.clone();
        let more = self.mode.overhead();
        let bounds = Bounds {
            memory: limits.memory_bytes.saturating_add(more.memory_bytes),
            processes: limits.processes.saturating_add(more.processes),
            cpu: Duration::from_secs(limits.cpu_s.into()),
        };
        let own = loaded.numbers.iter().skip(number).step_by(keepers);
        let log = lock(&loaded.log).clone();
        let slots = own
            .map(|number| {
                let group = self.hierarchy.slot(*number, bounds, share.clone())?;
                Slot::new(*number, group, log.clone())
            })
            .collect::<Result<Vec<Slot>, String>>()?;
        for slot in &slots {
            self.warden.watch(&slot.group, &loaded.metrics);
        }
        lock(&loaded.groups).extend(slots.iter().map(|slot| slot.group.clone()));
        let inbox = Arc::new(Inbox::new().map_err(|error| error.to_string())?);
        let duties = Duties {
            number,
            template: template.clone(),
            slots,
            pool: loaded.pool.clone(),
            inbox: inbox.clone(),
            metrics: loaded.metrics.clone(),
            limits,
            janitor: self.janitor.clone(),
        };
        let (sender, settled) = channel();
        let thread = std::thread::Builder::new()
            .name(format!("keeper-{number}"))
            .spawn(move || keeper::run(duties, &sender))
            .map_err(|error| error.to_string())?;
        match settled.recv() {
            Ok(Ok(())) => {
                loaded.inboxes.push(inbox);
                lock(&loaded.threads).push(thread);
                Ok(())
            }
            other => {
                // It ends by itself, and holds the slots until then.
                let _ = thread.join();
                Err(match other {
                    Ok(Err(why)) => why,
                    _ => "the keeper ended before it had begun".into(),
                })
            }
        }
    }

    /// Wait for the first worker, and looks at it from outside.
    fn first_look(&self, loaded: &Arc<Loaded>, template: &dyn Template) -> Result<(), String> {
        let caller = Arc::new(Caller::new(None).map_err(|error| error.to_string())?);
        let until = Instant::now() + loaded.settings.limits.start + Duration::from_secs(1);
        let ready = loaded
            .pool
            .take(&caller, until)
            .map_err(|failure| match failure {
                Failure::NotReady(why) => why,
                other => other.to_string(),
            })?;
        let verdict = template.verify(&*ready.worker);
        if let Some(ready) = loaded.pool.put(ready) {
            loaded.back(ready);
        }
        verdict
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
            let (ready, waiting) = loaded.pool.counts();
            let said = lock(&loaded.log).as_ref().map_or(0, |log| log.said());
            loaded.metrics.report([ready, waiting], said, anew)
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
        self.hierarchy.remove();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Loaded>>> {
        lock(&self.handles)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop();
    }
}
