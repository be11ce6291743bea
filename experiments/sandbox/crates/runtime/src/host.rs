//! Starts the workers of binaries in one mode: what is done with root's rights, and nothing else.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::binary::Binary;
use crate::board::Board;
use crate::cgroup::{Bounds, Hierarchy, Share};
use crate::cores;
use crate::crew::{Crew, Keepers};
use crate::janitor::Janitor;
use crate::keeper::inbox::Inbox;
use crate::keeper::{self, Duties};
use crate::line::Line;
use crate::lock::lock;
use crate::mode::{Mode, Template};
use crate::numbers::{NUMBERS, OWN_NUMBERS};
use crate::scratch;
use crate::slot::Slot;
use crate::wanted::Wanted;
use crate::warden::Warden;

/// Makes the line of the keeper with a number.
pub type Lines<'a> = &'a dyn Fn(usize) -> Result<Line, String>;

/// Starts workers.
pub struct Host {
    mode: Box<dyn Mode>,
    hierarchy: Hierarchy,
    janitor: Janitor,
    inspector: Janitor,
    warden: Warden,
}

impl Host {
    /// Make ready to start workers of a mode. Remove what was left by others that were killed. This process
    /// and those that it starts leave no cores from now on.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn new(mode: Box<dyn Mode>) -> Result<Self, String> {
        let words = |error: std::io::Error| error.to_string();
        let janitor = Janitor::new("janitor").map_err(words)?;
        let inspector = Janitor::new("inspector").map_err(words)?;
        let warden = Warden::new().map_err(words)?;
        scratch::sweep();
        let hierarchy = if mode.has_processes() {
            Hierarchy::new()?
        } else {
            Hierarchy::of_no_processes()
        };
        match cores::leave_none() {
            Err(why) if mode.has_processes() => return Err(why),
            _ => {}
        }
        Ok(Host {
            mode,
            hierarchy,
            janitor,
            inspector,
            warden,
        })
    }

    /// The mode.
    pub fn mode(&self) -> &dyn Mode {
        &*self.mode
    }

    /// Limit the memory of this process, its workers' apart, and of those that it starts from now on. Return
    /// false where it has no control group of its own.
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

    /// Start keepers of a binary's workers, each with its line. They have begun when this returns.
    ///
    /// # Errors
    ///
    /// The reason, in words. Nothing of it is then left.
    pub fn start(
        &self,
        wanted: &Wanted,
        binary: Arc<Binary>,
        lines: Lines<'_>,
    ) -> Result<Crew, String> {
        wanted.check()?;
        let template = self.mode.prepare(binary, &wanted.limits)?;
        let source = if self.mode.has_processes() {
            &NUMBERS
        } else {
            &OWN_NUMBERS
        };
        let mut crew = Crew {
            board: Arc::new(Board::new(wanted.workers)?),
            keepers: wanted.keepers,
            inboxes: Vec::new(),
            threads: Mutex::default(),
            groups: Mutex::default(),
            numbers: source.take(wanted.workers)?,
            source,
        };
        let share = self.hierarchy.share().map(|share| share.map(Arc::new));
        let started = share.and_then(|share| {
            (0..wanted.keepers).try_for_each(|number| {
                let line = lines(number)?;
                self.start_keeper(&mut crew, (number, line), wanted, &template, share.as_ref())
            })
        });
        started.inspect_err(|_| crew.end())?;
        Ok(crew)
    }

    fn start_keeper(
        &self,
        crew: &mut Crew,
        (number, line): (usize, Line),
        wanted: &Wanted,
        template: &Arc<dyn Template>,
        share: Option<&Arc<Share>>,
    ) -> Result<(), String> {
        let limits = wanted.limits.clone();
        let more = self.mode.overhead();
        let bounds = Bounds {
            memory: limits.memory_bytes.saturating_add(more.memory_bytes),
            processes: limits.processes.saturating_add(more.processes),
            cpu: Duration::from_secs(limits.cpu_s.into()),
        };
        let own = (number..wanted.workers).step_by(wanted.keepers);
        let slots = own.clone().map(|worker| {
            let number = crew.numbers[worker];
            let group = self.hierarchy.slot(number, bounds, share.cloned())?;
            Slot::new(number, group, wanted.is_logged)
        });
        let slots = slots.collect::<Result<Vec<Slot>, String>>()?;
        for slot in &slots {
            self.warden.watch(&slot.group);
        }
        let inbox = Arc::new(Inbox::new().map_err(|error| error.to_string())?);
        let mut groups = lock(&crew.groups);
        groups.extend(slots.iter().map(|slot| slot.group.clone()));
        drop(groups);
        let duties = Duties {
            number,
            template: template.clone(),
            slots,
            marks: own.map(|worker| crew.board.mark(worker)).collect(),
            line,
            inbox: inbox.clone(),
            limits,
            janitor: self.janitor.clone(),
            inspector: self.inspector.clone(),
        };
        let (sender, settled) = channel();
        let thread = std::thread::Builder::new()
            .name(format!("keeper-{number}"))
            .spawn(move || keeper::run(duties, &sender))
            .map_err(|error| error.to_string())?;
        match settled.recv() {
            Ok(Ok(())) => {
                crew.inboxes.push(inbox);
                lock(&crew.threads).push(thread);
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

    /// Remove the control groups, in which no slot is left.
    pub fn remove(&self) {
        self.hierarchy.remove();
    }
}
