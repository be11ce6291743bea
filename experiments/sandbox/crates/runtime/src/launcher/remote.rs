//! The broker's side: workers that another process starts.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};

use crate::binary::Binary;
use crate::board::Board;
use crate::call::timespec;
use crate::crew::Keepers;
use crate::dispatcher::Dispatcher;
use crate::lock::lock;
use crate::mode::Mode;
use crate::order::{Event, Order, now};
use crate::packet::{pair, send};
use crate::wanted::Wanted;
use crate::wire::{self, Answer, Question};

/// A process that starts workers for this one.
pub struct Launcher {
    control: Arc<OwnedFd>,
    mode: Box<dyn Mode>,
}

/// A file of those that the launcher was started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The audit log.
    Audit,
    /// The log of this name.
    Log(String),
}

impl Launcher {
    /// The one at the other end of `control`, whose mode it is.
    pub fn new(control: OwnedFd, mode: Box<dyn Mode>) -> Self {
        Launcher {
            control: Arc::new(control),
            mode,
        }
    }

    /// The mode.
    pub fn mode(&self) -> &dyn Mode {
        &*self.mode
    }

    /// Wait for the descriptor that the launcher passes at first.
    ///
    /// # Errors
    ///
    /// The kernel's: the launcher is gone.
    pub fn passed(&self) -> Result<OwnedFd, Error> {
        let (_, descriptor) = wire::answered(self.control.as_fd())?;
        descriptor.ok_or(Errno::BADMSG.into())
    }

    /// Return a way to open one of its files, which may be full and is then to `turn` into the one before.
    pub fn opener(&self, which: Which) -> impl Fn(bool) -> Result<File, Error> + use<> {
        let control = self.control.clone();
        let log = match which {
            Which::Audit => None,
            Which::Log(name) => Some(name),
        };
        move |turn| {
            let log = log.clone();
            let question = Question::Open { log, turn };
            let opened = asked(control.as_fd(), &question)?;
            opened.map(File::from).ok_or(ErrorKind::NotFound.into())
        }
    }

    /// Have clients shown the socket.
    ///
    /// # Errors
    ///
    /// The launcher's.
    pub fn announce(&self) -> Result<(), Error> {
        asked(self.control.as_fd(), &Question::Announce).map(drop)
    }

    /// Wait until the launcher wants this process to end.
    pub fn wait(&self) {
        while !matches!(
            crate::packet::recv(self.control.as_fd(), true),
            Err(Errno::PIPE)
        ) {}
    }

    /// Start keepers of a binary's workers, which tell `dispatcher` of them.
    pub(crate) fn start(
        &self,
        wanted: &Wanted,
        binary: &Binary,
        dispatcher: &Arc<Dispatcher>,
    ) -> Result<Crew, String> {
        let words = |error: Errno| format!("the launcher: {error}");
        let (socket, theirs) = pair().map_err(words)?;
        let packet = Question::Load(wanted.clone()).encode();
        let beside = [theirs.as_fd(), binary.file()];
        send(self.control.as_fd(), &packet, &beside, true).map_err(words)?;
        drop(theirs);
        let mut lines = Vec::with_capacity(wanted.keepers);
        let board = loop {
            match wire::answered(socket.as_fd()).map_err(words)? {
                (Answer::Keeper, Some(line)) => lines.push(line),
                (Answer::Done, Some(board)) => break Board::open(board, wanted.workers)?,
                (Answer::Refused(_, why), _) => return Err(why),
                _ => return Err(words(Errno::BADMSG)),
            }
        };
        if lines.len() != wanted.keepers {
            return Err(words(Errno::BADMSG));
        }
        let (lines, dispatcher) = (Arc::new(lines), dispatcher.clone());
        let reader = Reader::new(lines.clone(), dispatcher).map_err(words)?;
        let thread = std::thread::Builder::new().name("lines".into());
        let thread = thread.spawn(move || reader.run());
        Ok(Crew {
            socket,
            lines,
            board,
            reader: Mutex::new(Some(thread.map_err(|error| error.to_string())?)),
        })
    }
}

/// Ask something, and wait for the answer with what is beside it.
fn asked(control: BorrowedFd<'_>, question: &Question) -> Result<Option<OwnedFd>, Error> {
    let (socket, theirs) = pair()?;
    send(control, &question.encode(), &[theirs.as_fd()], true)?;
    drop(theirs);
    match wire::answered(socket.as_fd())? {
        (Answer::Done, beside) => Ok(beside),
        (Answer::Refused(errno, why), _) => {
            let kind = Error::from_raw_os_error(errno).kind();
            Err(Error::new(kind, why))
        }
        (Answer::Keeper, _) => Err(Errno::BADMSG.into()),
    }
}

/// Keepers of another process.
pub(crate) struct Crew {
    /// The launcher ends them when this is shut.
    socket: OwnedFd,
    lines: Arc<Vec<OwnedFd>>,
    board: Board,
    reader: Mutex<Option<JoinHandle<()>>>,
}

impl Keepers for Crew {
    fn call(&self, keeper: usize, place: usize) {
        if self.board.call(keeper + place * self.lines.len()) {
            self.order(keeper, Order::Thaw { place });
        }
    }

    fn order(&self, keeper: usize, order: Order) {
        let _ = wire::give(self.lines[keeper].as_fd(), order, true);
    }

    fn frozen(&self) -> u64 {
        self.board.frozen()
    }

    fn stop(&self) {
        let _ = shutdown(&self.socket, Shutdown::Write);
    }

    fn end(&self) {
        self.stop();
        if let Some(reader) = lock(&self.reader).take() {
            let _ = reader.join();
        }
        // Nobody of the launcher's has it any more once all is removed.
        while !matches!(wire::answered(self.socket.as_fd()), Err(Errno::PIPE)) {}
    }
}

/// The time after which a full line is tried again.
const AGAIN: Duration = Duration::from_millis(1);
/// The time after which a worker is given back for lack of descriptors: at once, its keeper would start and
/// end workers without a pause.
const LACK: Duration = Duration::from_millis(100);

/// Reads what keepers say until all are gone. It never waits for one of them, which could wait for it.
struct Reader {
    lines: Arc<Vec<OwnedFd>>,
    dispatcher: Arc<Dispatcher>,
    epoll: OwnedFd,
    /// Orders for which a line had no room, with their keepers.
    owed: Vec<(usize, Order)>,
    /// Orders that wait until there may be descriptors again, and until when.
    later: Vec<(usize, Order)>,
    due: Option<Instant>,
}

impl Reader {
    fn new(lines: Arc<Vec<OwnedFd>>, dispatcher: Arc<Dispatcher>) -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (keeper, line) in lines.iter().enumerate() {
            let data = epoll::EventData::new_u64(keeper as u64);
            epoll::add(&epoll, line, data, epoll::EventFlags::IN)?;
        }
        Ok(Reader {
            lines,
            dispatcher,
            epoll,
            owed: Vec::new(),
            later: Vec::new(),
            due: None,
        })
    }

    fn run(mut self) {
        let mut left = self.lines.len();
        let mut events = Vec::with_capacity(64);
        while left > 0 {
            for (keeper, order) in std::mem::take(&mut self.owed) {
                self.give(keeper, order);
            }
            let until_due = |due: Instant| due.saturating_duration_since(Instant::now());
            let again = (!self.owed.is_empty()).then_some(AGAIN);
            let again = again.into_iter().chain(self.due.map(until_due)).min();
            let again = again.map(timespec);
            events.clear();
            let waited = epoll::wait(&self.epoll, spare_capacity(&mut events), again.as_ref());
            if self.due.is_some_and(|due| due <= Instant::now()) {
                self.due = None;
                self.owed.append(&mut self.later);
            }
            if waited.is_err() {
                continue;
            }
            for event in &events {
                let keeper = event.data.u64() as usize;
                if self.take(keeper).is_err() {
                    let _ = epoll::delete(&self.epoll, &self.lines[keeper]);
                    left -= 1;
                }
            }
        }
    }

    /// Take all that a keeper has said.
    fn take(&mut self, keeper: usize) -> Result<(), Errno> {
        let lines = self.lines.clone();
        while let Some(event) = wire::event(lines[keeper].as_fd())? {
            let is_lost = matches!(event, Event::Unreachable { .. });
            if let Some(place) = self.dispatcher.take(keeper, event) {
                let spent = Order::Spent {
                    place,
                    since: now(),
                };
                if is_lost {
                    self.later.push((keeper, spent));
                    self.due.get_or_insert_with(|| Instant::now() + LACK);
                } else {
                    self.give(keeper, spent);
                }
            }
        }
        Ok(())
    }

    fn give(&mut self, keeper: usize, order: Order) {
        if wire::give(self.lines[keeper].as_fd(), order, false) == Err(Errno::AGAIN) {
            self.owed.push((keeper, order));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{PerClient, Pool};
    use rustix::event::{PollFd, PollFlags, poll};

    #[test]
    fn a_worker_that_was_lost_for_lack_of_descriptors_is_given_back_after_a_pause() {
        let (here, there) = pair().unwrap();
        let dispatcher = Dispatcher::new(Pool::new(1, PerClient::ALL), None);
        let reader = Reader::new(Arc::new(vec![here]), dispatcher).unwrap();
        let reader = std::thread::spawn(move || reader.run());
        let begun = Instant::now();
        let ordered = || {
            poll(&mut [PollFd::new(&there, PollFlags::IN)], None).unwrap();
            wire::order(there.as_fd()).unwrap()
        };
        // A second one is no reason to give the first one back at once.
        for place in [3, 4] {
            send(there.as_fd(), &wire::lost(place), &[], true).unwrap();
        }
        for expected in [3, 4] {
            let order = ordered();
            assert!(matches!(order, Some(Order::Spent { place, .. }) if place == expected));
            assert!(begun.elapsed() >= LACK);
        }
        drop(there);
        reader.join().unwrap();
    }
}
