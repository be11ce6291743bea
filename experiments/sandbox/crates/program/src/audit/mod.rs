//! The audit log: what the daemon did for whom, as lines of JSON in a file of bounded size. AUDIT.md has the records.
//!
//! Who notes something never waits for the file: records are queued, as many as the pace lets through, and
//! a thread writes them. Every record has a number of its own, also one that is dropped.

mod file;
mod pace;
mod record;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

pub use self::file::{File, opened};
use self::pace::Pace;
pub use self::record::{Client, Event, Record};

/// The longest time after which it is written how many records were dropped.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most records that wait to be written.
const WAITING: usize = 16_384;

/// The options of the audit log.
#[derive(Clone, clap::Args)]
pub struct Options {
    /// File of the audit log, a JSON record a line; one that is there is continued
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Size of the audit log in MiB, with what was before in FILE.old
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    audit_mb: u32,
    /// Records of each kind of event in a second, failures apart; more are counted and dropped
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    audit_rate: u32,
}

/// An audit log, or none.
pub struct Audit(Option<Log>);

struct Log {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
}

/// The records that wait to be written.
struct Queue {
    records: Vec<Record>,
    /// The number of the next record.
    next: u64,
    /// The pace of each kind of event that there was, so that a flood of one drops none of another.
    paces: HashMap<(&'static str, bool), Pace>,
    rate: u32,
    dropped: u64,
    ends: bool,
}

impl Queue {
    /// Take the next record's number.
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Return true if the kind may have one more record.
    fn lets_through(&mut self, kind: (&'static str, bool), now: Instant) -> bool {
        let rate = self.rate;
        let pace = self.paces.entry(kind);
        pace.or_insert_with(|| Pace::new(rate, now))
            .lets_through(now)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Options {
    /// The file that was asked for.
    pub fn path(&self) -> Option<&PathBuf> {
        self.audit.as_ref()
    }

    /// Open that file.
    ///
    /// # Errors
    ///
    /// The reason why there can be none, in words.
    pub fn file(&self) -> Result<Option<File>, String> {
        let most = u64::from(self.audit_mb) << 20;
        let open = |path: &PathBuf| {
            File::open(path, most / 2).map_err(|why| format!("--audit {}: {why}", path.display()))
        };
        self.path().map(open).transpose()
    }

    /// Begin the log in that file.
    ///
    /// # Errors
    ///
    /// The reason why there can be none, in words.
    pub fn begin(&self, file: Option<File>) -> Result<Audit, String> {
        let Some(file) = file else {
            return Ok(Audit(None));
        };
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                records: Vec::new(),
                next: 1,
                paces: HashMap::new(),
                rate: self.audit_rate,
                dropped: 0,
                ends: false,
            }),
            more: Condvar::new(),
        });
        let own = shared.clone();
        let thread = std::thread::Builder::new().name("audit".into());
        let writer = thread.spawn(move || write(&own, file));
        let writer = writer.map_err(|error| format!("--audit: {error}"))?;
        Ok(Audit(Some(Log {
            shared,
            writer: Mutex::new(Some(writer)),
        })))
    }
}

impl Audit {
    /// Note what `event` makes, if there is a log.
    pub fn note(&self, event: impl FnOnce() -> Event) {
        let Some(log) = &self.0 else { return };
        let event = event();
        let now = Instant::now();
        // Held for as long as pushing takes, never while something is written.
        let mut queue = log.shared.lock();
        let room = queue.records.len() < WAITING && !queue.ends;
        let number = queue.number();
        if room && queue.lets_through(event.kind(), now) {
            queue.records.push(Record::new(number, event));
            drop(queue);
            log.shared.more.notify_one();
        } else {
            queue.dropped += 1;
        }
    }

    /// Return true if there is a log.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Write what is queued, and how many records were dropped in all.
    pub fn end(&self) {
        let Some(log) = &self.0 else { return };
        log.shared.lock().ends = true;
        log.shared.more.notify_one();
        let writer = log
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}

/// Write records until the log ends.
fn write(shared: &Shared, mut file: File) {
    let (mut lost, mut told, mut since) = (Lost::default(), Lost::default(), Instant::now());
    loop {
        let mut queue = shared.lock();
        if queue.records.is_empty() && !queue.ends {
            let waited = shared.more.wait_timeout(queue, PATIENCE);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let records = std::mem::take(&mut queue.records);
        lost.dropped += std::mem::take(&mut queue.dropped);
        let ends = queue.ends;
        drop(queue);
        for record in &records {
            lost.unwritten += u64::from(file.append(&record.line()).is_err());
        }
        let event = match ends {
            true => "end",
            false if lost != told && since.elapsed() >= PATIENCE => "lost",
            false => continue,
        };
        (told, since) = (lost, Instant::now());
        let fields = json!({"dropped": lost.dropped, "unwritten": lost.unwritten});
        let record = Record::new(shared.lock().number(), Event::of(event, fields));
        lost.unwritten += u64::from(file.append(&record.line()).is_err());
        if ends {
            return;
        }
    }
}

/// The records that are not in the file, counted by the reason.
#[derive(Clone, Copy, Default, PartialEq)]
struct Lost {
    dropped: u64,
    unwritten: u64,
}

#[cfg(test)]
mod tests;
