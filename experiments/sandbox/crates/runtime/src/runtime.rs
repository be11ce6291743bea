//! The runtime: handles of loaded binaries, and their calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::binary::Binary;
use crate::call::{Caller, HostFunctions, Terms};
use crate::cgroup::{Hierarchy, SlotGroup};
use crate::failure::Failure;
use crate::janitor::Janitor;
use crate::limits::Limits;
use crate::metrics::{Metrics, Phase, Report};
use crate::mode::{Mode, Template};
use crate::pool::keeper::{self, Duties, Inbox, Message};
use crate::pool::{Pool, Ready};
use crate::slot::Slot;

/// How a binary is loaded.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Workers that are kept ready.
    pub workers: usize,
    /// Calls that may wait for one.
    pub queue: usize,
    /// Threads that refill; as the mode has it if none.
    pub keepers: Option<usize>,
    /// What each call may use.
    pub limits: Limits,
    /// Whether the binary calls functions of the host, and wraps what it says accordingly.
    pub callbacks: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            workers: 10,
            queue: 1000,
            keepers: None,
            limits: Limits::default(),
            callbacks: false,
        }
    }
}

/// Loads binaries in one mode, and calls them.
pub struct Runtime {
    mode: Box<dyn Mode>,
    functions: Arc<HostFunctions>,
    hierarchy: Arc<Hierarchy>,
    janitor: Janitor,
    handles: Mutex<BTreeMap<String, Arc<Loaded>>>,
}

/// Numbers of slots in use, of all runtimes of this process: no two have the same user.
static NUMBERS: Numbers = Numbers(Mutex::new(BTreeSet::new()));

struct Numbers(Mutex<BTreeSet<u32>>);

struct Loaded {
    settings: Settings,
    limits: Arc<Limits>,
    pool: Arc<Pool>,
    metrics: Arc<Metrics>,
    inboxes: Vec<Arc<Inbox>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Held here too, since keepers may have confined themselves too far to remove them.
    groups: Mutex<Vec<Arc<SlotGroup>>>,
    numbers: Vec<u32>,
}

/// A call that has ended. Its worker goes back to be collected when this is dropped, so that whoever
/// waits for the response need not wait for that.
pub struct Served {
    /// The response, or why there is none.
    pub outcome: Result<Vec<u8>, Failure>,
    /// Its parts and how long they took.
    pub times: Vec<(Phase, Duration)>,
    spent: Option<(Arc<Loaded>, Option<Ready>)>,
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some((loaded, ready)) = self.spent.take() {
            if let Some(ready) = ready {
                loaded.back(ready);
            }
            loaded.metrics.called(&self.outcome, &self.times);
        }
    }
}

impl Runtime {
    /// A runtime whose mode has been tried: it started, verified, called and collected a worker.
    ///
    /// # Errors
    ///
    /// Why the mode does not work here, in words. Nothing falls back on another.
    pub fn new(mode: Box<dyn Mode>, functions: HostFunctions) -> Result<Self, String> {
        let janitor = Janitor::new().map_err(|error| error.to_string())?;
        let made = Runtime {
            hierarchy: Arc::new(Hierarchy::new()?),
            mode,
            functions: Arc::new(functions),
            janitor,
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

    /// Loads `binary` under the handle `name`; it has a worker ready that was looked at when this
    /// returns.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded, in words. Nothing of it is then left.
    pub fn load(&self, name: &str, binary: Binary, settings: Settings) -> Result<(), String> {
        settings.limits.check()?;
        if settings.workers == 0 {
            return Err("workers: found 0, expected at least 1".into());
        }
        if self.lock().contains_key(name) {
            return Err(format!(
                "a binary is loaded as {name:?} already; unload it first, or choose another name"
            ));
        }
        let template = self.mode.prepare(Arc::new(binary), &settings.limits)?;
        let loaded = Arc::new(self.start(&template, settings)?);
        if let Err(why) = self.first_look(&loaded, &*template) {
            self.end(&loaded, Failure::Unloaded);
            return Err(why);
        }
        let mut handles = self.lock();
        if handles.contains_key(name) {
            drop(handles);
            self.end(&loaded, Failure::Unloaded);
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
        let mut loaded = Loaded {
            pool: Arc::new(Pool::new(settings.queue)),
            metrics: Arc::new(Metrics::default()),
            inboxes: Vec::new(),
            threads: Mutex::default(),
            groups: Mutex::default(),
            numbers: NUMBERS.take(settings.workers),
            limits: Arc::new(settings.limits.clone()),
            settings,
        };
        for number in 0..keepers {
            if let Err(why) = self.start_keeper(&mut loaded, template, number, keepers) {
                self.end(&loaded, Failure::Unloaded);
                return Err(why);
            }
        }
        Ok(loaded)
    }

    fn start_keeper(
        &self,
        loaded: &mut Loaded,
        template: &Arc<dyn Template>,
        number: usize,
        keepers: usize,
    ) -> Result<(), String> {
        let limits = loaded.settings.limits.clone();
        let own = loaded.numbers.iter().skip(number).step_by(keepers);
        let slots = own
            .map(|number| {
                let group = self
                    .hierarchy
                    .slot(*number, limits.memory_bytes, limits.processes)?;
                Ok(Slot {
                    number: *number,
                    group: Arc::new(group),
                })
            })
            .collect::<Result<Vec<Slot>, String>>()?;
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

    /// Waits for the first worker, and looks at it from outside.
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

    /// Calls the binary loaded as `name`; `deadline` can only shorten that of its limits.
    pub fn call(
        &self,
        name: &str,
        request: &[u8],
        caller: &Arc<Caller>,
        deadline: Option<Duration>,
    ) -> Served {
        let found = self.lock().get(name).cloned();
        let Some(loaded) = found else {
            return Served {
                outcome: Err(Failure::Unloaded),
                times: Vec::new(),
                spent: None,
            };
        };
        loaded.call(request, caller, deadline, &self.functions)
    }

    /// Ends the handle `name` after the calls under way; false when there is none.
    pub fn unload(&self, name: &str) -> bool {
        let found = self.lock().remove(name);
        match found {
            Some(loaded) => {
                self.end(&loaded, Failure::Unloaded);
                true
            }
            None => false,
        }
    }

    /// Statistics of every handle.
    pub fn stats(&self) -> BTreeMap<String, Report> {
        let report = |loaded: &Loaded| {
            let (ready, waiting) = loaded.pool.counts();
            loaded.metrics.report(ready, waiting)
        };
        self.lock()
            .iter()
            .map(|(name, loaded)| (name.clone(), report(loaded)))
            .collect()
    }

    /// Ends all handles after the calls under way, for good; calls that wait fail at once.
    pub fn stop(&self) {
        let all = std::mem::take(&mut *self.lock());
        for loaded in all.values() {
            loaded.close(Failure::Stopping);
        }
        for loaded in all.values() {
            self.end(loaded, Failure::Stopping);
        }
        self.hierarchy.remove();
    }

    fn end(&self, loaded: &Loaded, why: Failure) {
        loaded.close(why);
        for thread in lock(&loaded.threads).drain(..) {
            let _ = thread.join();
        }
        lock(&loaded.groups).clear();
        NUMBERS.give_back(&loaded.numbers);
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

impl Loaded {
    fn call(
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
            return self.served(Err(Failure::RequestTooLong), Vec::new(), None);
        }
        let mut tries = 0;
        loop {
            let mut ready = match self.pool.take(caller, terms.until) {
                Ok(ready) => ready,
                Err(failure) => {
                    return self.served(Err(failure), vec![(Phase::Wait, begun.elapsed())], None);
                }
            };
            let wait = begun.elapsed();
            let attempt = ready.worker.call(request, &terms);
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
            return self.served(attempt.outcome, times, Some(ready));
        }
    }

    fn served(
        self: &Arc<Self>,
        outcome: Result<Vec<u8>, Failure>,
        times: Vec<(Phase, Duration)>,
        ready: Option<Ready>,
    ) -> Served {
        Served {
            outcome,
            times,
            spent: Some((self.clone(), ready)),
        }
    }

    fn back(&self, ready: Ready) {
        let inbox = &self.inboxes[ready.keeper];
        inbox.tell(Message::Spent(ready, Instant::now()));
    }

    fn close(&self, why: Failure) {
        for ready in self.pool.close(why) {
            self.back(ready);
        }
        for inbox in &self.inboxes {
            inbox.tell(Message::Stop);
        }
    }
}

impl Numbers {
    fn take(&self, count: usize) -> Vec<u32> {
        let mut used = lock(&self.0);
        let free: Vec<u32> = (0..)
            .filter(|number| !used.contains(number))
            .take(count)
            .collect();
        used.extend(&free);
        free
    }

    fn give_back(&self, numbers: &[u32]) {
        let mut used = lock(&self.0);
        for number in numbers {
            used.remove(number);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
