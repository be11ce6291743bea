//! The standard error of a binary's workers, in a file of bounded size. Each worker has its own
//! pipe, so it can neither read nor change another's output, nor leave settings on the file for the
//! next worker. One thread reads all pipes, outside the path of calls.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::{read, write};

use crate::opener::Opener;

/// The capacity of a pipe.
const PIECE: usize = 64 << 10;
const WAKE: u64 = u64::MAX;

/// A binary's log; what was said before it is dropped is in the file after that.
#[derive(Debug)]
pub struct Log {
    /// The pipes' queue; `None` once the log ends.
    lines: Option<Sender<OwnedFd>>,
    wake: Arc<OwnedFd>,
    said: Arc<AtomicU64>,
    reader: Option<JoinHandle<()>>,
}

impl Log {
    /// In the file that `open` opens, which is begun anew, and one beside it with what was said before: of `most`
    /// bytes together, at most `rate` bytes a second.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn new(open: Opener, most: u64, rate: u64) -> Result<Self, String> {
        let file = Bounded::new(open, most / 2).map_err(|error| format!("the log {error}"))?;
        let words = |error: std::io::Error| format!("a log: {error}");
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = Arc::new(wake.map_err(|error| words(error.into()))?);
        let (lines, incoming) = channel();
        let said = Arc::new(AtomicU64::new(0));
        let pace = Pace::new(rate, said.clone());
        let reader = Reader::new(incoming, wake.clone(), file, pace).map_err(words)?;
        let thread = std::thread::Builder::new().name("log".into());
        let reader = thread.spawn(move || reader.run()).map_err(words)?;
        Ok(Log {
            lines: Some(lines),
            wake,
            said,
            reader: Some(reader),
        })
    }

    /// Return how many bytes workers have said so far.
    pub fn said(&self) -> u64 {
        self.said.load(Ordering::Relaxed)
    }

    /// Keep what one worker says, whose pipe this is.
    pub fn take(&self, line: OwnedFd) {
        if let Some(lines) = &self.lines {
            let _ = lines.send(line);
            let _ = write(&*self.wake, &1u64.to_ne_bytes());
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.lines = None;
        let _ = write(&*self.wake, &1u64.to_ne_bytes());
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

struct Reader {
    incoming: Receiver<OwnedFd>,
    wake: Arc<OwnedFd>,
    epoll: OwnedFd,
    lines: HashMap<u64, OwnedFd>,
    file: Bounded,
    pace: Pace,
    buffer: Vec<u8>,
}

impl Reader {
    fn new(
        incoming: Receiver<OwnedFd>,
        wake: Arc<OwnedFd>,
        file: Bounded,
        pace: Pace,
    ) -> std::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64(WAKE);
        epoll::add(&epoll, &*wake, data, epoll::EventFlags::IN)?;
        Ok(Reader {
            incoming,
            wake,
            epoll,
            lines: HashMap::new(),
            file,
            pace,
            buffer: vec![0; PIECE],
        })
    }

    fn run(mut self) {
        let mut events = Vec::with_capacity(64);
        while self.take_in() {
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            if epoll::wait(&self.epoll, room, None).is_err() {
                continue;
            }
            for event in &events {
                match event.data.u64() {
                    WAKE => {
                        let _ = read(&*self.wake, &mut [0; 8]);
                    }
                    line => self.read_pipe(line),
                }
            }
        }
        // All workers have ended: what is left in a pipe fits into one piece.
        let rest: Vec<u64> = self.lines.keys().copied().collect();
        for line in rest {
            self.read_pipe(line);
        }
    }

    /// Take in new workers' pipes; false once there will be no more.
    fn take_in(&mut self) -> bool {
        loop {
            let line = match self.incoming.try_recv() {
                Ok(line) => line,
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            };
            let number = line.as_raw_fd() as u64;
            let data = epoll::EventData::new_u64(number);
            if epoll::add(&self.epoll, &line, data, epoll::EventFlags::IN).is_ok() {
                self.lines.insert(number, line);
            }
        }
    }

    fn read_pipe(&mut self, number: u64) {
        let Some(line) = self.lines.get(&number) else {
            return;
        };
        match read(line, &mut self.buffer[..]) {
            Ok(0) => drop(self.lines.remove(&number)),
            Ok(count) => {
                self.file.append(&self.buffer[..count]);
                self.pace.keep(count as u64);
            }
            Err(_) => {}
        }
    }
}

/// The most that is read in a second, and what has been read in all. Who writes faster waits.
struct Pace {
    rate: u64,
    /// Bytes that may still be read without a pause.
    left: u64,
    since: Instant,
    said: Arc<AtomicU64>,
}

impl Pace {
    fn new(rate: u64, said: Arc<AtomicU64>) -> Self {
        Pace {
            rate,
            left: rate,
            since: Instant::now(),
            said,
        }
    }

    /// Pause, if so many bytes more were too many.
    fn keep(&mut self, count: u64) {
        self.said.fetch_add(count, Ordering::Relaxed);
        let earned = self.since.elapsed().as_secs_f64() * self.rate as f64;
        self.left = self.left.saturating_add(earned as u64).min(self.rate);
        self.since = Instant::now();
        if let Some(left) = self.left.checked_sub(count) {
            self.left = left;
            return;
        }
        let owed = count - self.left;
        std::thread::sleep(Duration::from_secs_f64(owed as f64 / self.rate as f64));
        (self.left, self.since) = (0, Instant::now());
    }
}

/// A file and the one before it, neither longer than `most`.
struct Bounded {
    open: Opener,
    file: File,
    length: u64,
    most: u64,
}

impl Bounded {
    fn new(open: Opener, most: u64) -> std::io::Result<Self> {
        Ok(Bounded {
            file: open.open(false)?,
            open,
            length: 0,
            most,
        })
    }

    /// Append bytes. Bytes that cannot be written are lost.
    fn append(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(self.most as usize) {
            if self.length + piece.len() as u64 > self.most && self.turn().is_err() {
                return;
            }
            if self.file.write_all(piece).is_ok() {
                self.length += piece.len() as u64;
            }
        }
    }

    fn turn(&mut self) -> std::io::Result<()> {
        self.file = self.open.open(true)?;
        self.length = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opener::before;
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::fs;
    use std::path::{Path, PathBuf};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tare-log-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_workers_say_is_in_the_file_once_the_log_ends() {
        let folder = folder("said");
        let path = folder.join("udf.log");
        fs::write(&path, "of another time").unwrap();
        let log = Log::new(Opener::of(path.clone()), 1 << 20, 1 << 20).unwrap();
        let line = || {
            let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
            log.take(ours);
            theirs
        };
        let (first, second) = (line(), line());
        write(&first, b"one\n").unwrap();
        write(&second, b"two\n").unwrap();
        assert!(read(&first, &mut [0; 8]).is_err());
        drop(first);
        let count = log.said.clone();
        drop(log);
        let counted = count.load(Ordering::Relaxed);
        let said = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = said.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["one", "two"]);
        assert_eq!(counted, 8);
        assert!(!before(&path).exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_log_is_never_longer_than_its_bound_and_keeps_the_newest() {
        let folder = folder("long");
        let path = folder.join("udf.log");
        let mut file = Bounded::new(Opener::of(path.clone()), 100).unwrap();
        for number in 0..100 {
            file.append(format!("{number:09}\n").as_bytes());
            let length = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
            assert!(length(&path) <= 100 && length(&before(&path)) <= 100);
        }
        file.append(&[b'x'; 250]);
        assert_eq!(fs::read(&path).unwrap(), [b'x'; 50]);
        assert_eq!(fs::read(before(&path)).unwrap(), [b'x'; 100]);
        fs::remove_dir_all(folder).unwrap();
    }
}
