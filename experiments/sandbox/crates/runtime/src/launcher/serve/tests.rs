//! What a hostile broker may try. It gets no more than workers within limits, or is hung up on.

use super::*;
use crate::binary::Binary;
use crate::limits::Limits;
use crate::order::{Event, Order, now};
use crate::packet::{Packet, pair, send};
use crate::wire::{self, answered};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Files of which none is there.
#[derive(Default)]
struct None(AtomicUsize);

impl Files for None {
    fn open(&self, _: &Which, _: bool) -> Result<File, Error> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Err(ErrorKind::NotFound.into())
    }

    fn announce(&self) -> Result<(), Error> {
        self.open(&Which::Audit, false).map(drop)
    }
}

/// Let `broker` talk to a launcher. Return how many files that was asked for.
fn attacked(broker: impl FnOnce(BorrowedFd<'_>)) -> usize {
    // Control groups are root's to make.
    if !rustix::process::geteuid().is_root() {
        return 0;
    }
    let mut modes = crate::modes::all().into_iter();
    let mode = modes.find(|mode| mode.name() == "none").unwrap();
    let host = Arc::new(Host::new(mode).unwrap());
    let (here, there) = pair().unwrap();
    let files = None::default();
    std::thread::scope(|scope| {
        let (host, files) = (&host, &files);
        let served = scope.spawn(move || serve(host, &there, files, || {}));
        broker(here.as_fd());
        drop(here);
        served.join().unwrap();
    });
    host.remove();
    files.0.into_inner()
}

fn wanted() -> Wanted {
    Wanted {
        limits: Limits::default(),
        is_logged: false,
        workers: 1,
        keepers: 1,
    }
}

fn trial() -> OwnedFd {
    let binary = Binary::new(crate::trial::binary()).unwrap();
    binary.file().try_clone_to_owned().unwrap()
}

/// Ask for workers. Return the answers up to the last one, and the socket.
fn load(
    control: BorrowedFd<'_>,
    wanted: &Wanted,
    binary: &OwnedFd,
) -> (Vec<OwnedFd>, OwnedFd, Answer) {
    let (socket, theirs) = pair().unwrap();
    let beside = [theirs.as_fd(), binary.as_fd()];
    let packet = Question::Load(wanted.clone()).encode();
    send(control, &packet, &beside, true).unwrap();
    drop(theirs);
    let mut lines = Vec::new();
    loop {
        match answered(socket.as_fd()).unwrap() {
            (Answer::Keeper, line) => lines.extend(line),
            (last, _) => return (lines, socket, last),
        }
    }
}

/// Wait for what a keeper says.
fn event(line: &OwnedFd) -> Result<Event, Errno> {
    loop {
        poll(&mut [PollFd::new(line, PollFlags::IN)], Option::None).unwrap();
        if let Some(event) = wire::event(line.as_fd())? {
            return Ok(event);
        }
    }
}

/// Wait for a ready worker. Return its place.
fn ready(line: &OwnedFd) -> usize {
    loop {
        if let Event::Ready { place, .. } = event(line).unwrap() {
            return place;
        }
    }
}

#[test]
fn limits_out_of_range_are_refused() {
    attacked(|control| {
        let odd = |change: fn(&mut Wanted)| {
            let mut wanted = wanted();
            change(&mut wanted);
            wanted
        };
        for (wanted, name) in [
            (odd(|wanted| wanted.workers = 0), "workers"),
            (odd(|wanted| wanted.workers = 4097), "workers"),
            (odd(|wanted| wanted.keepers = 0), "keepers"),
            (odd(|wanted| wanted.keepers = 2), "keepers"),
            (odd(|wanted| wanted.limits.memory_bytes = 1), "memory_bytes"),
            (odd(|wanted| wanted.limits.processes = 0), "processes"),
            (
                odd(|wanted| wanted.limits.processes = u32::MAX),
                "processes",
            ),
            (odd(|wanted| wanted.limits.cpu_s = 0), "cpu_s"),
            (odd(|wanted| wanted.limits.files = 1 << 20), "files"),
            (odd(|wanted| wanted.limits.start = Duration::ZERO), "start"),
            (
                odd(|wanted| wanted.limits.start = Duration::from_millis(u64::MAX)),
                "start",
            ),
        ] {
            let (_, _, answer) = load(control, &wanted, &trial());
            assert!(
                matches!(&answer, Answer::Refused(_, why) if why.starts_with(name)),
                "{answer:?}, expected a refusal of {name}"
            );
        }
    });
}

#[test]
fn only_sealed_memory_is_executed() {
    attacked(|control| {
        let open = memfd_create("open", MemfdFlags::ALLOW_SEALING).unwrap();
        let file = File::open("/proc/self/exe").unwrap().into();
        for other in [open, file, pair().unwrap().0] {
            let (_, _, answer) = load(control, &wanted(), &other);
            let is_refused = |why: &str| why.contains("expected sealed memory");
            assert!(
                matches!(&answer, Answer::Refused(_, why) if is_refused(why)),
                "{answer:?}"
            );
        }
    });
}

#[test]
fn what_lacks_its_descriptors_is_not_done() {
    let asked = attacked(|control| {
        let (one, two) = pair().unwrap();
        let both = [one.as_fd(), two.as_fd()];
        let wants = Question::Load(wanted()).encode();
        for (packet, count) in [
            (&wants, 0),
            (&wants, 1),
            (&Question::Announce.encode(), 0),
            (&Question::Announce.encode(), 2),
        ] {
            send(control, packet, &both[..count], true).unwrap();
        }
        let (lines, _socket, _) = load(control, &wanted(), &trial());
        ready(&lines[0]);
    });
    assert_eq!(asked, 0);
}

#[test]
fn who_breaks_the_protocol_is_hung_up_on() {
    let numbers = |kind| Packet::new(kind, [u64::MAX; 8]);
    let all = [
        (numbers(1), 2),
        (numbers(0), 1),
        (numbers(7), 1),
        (numbers(u64::MAX), 0),
    ];
    for (packet, count) in all {
        attacked(|control| {
            let (one, two) = pair().unwrap();
            let both = [one.as_fd(), two.as_fd()];
            send(control, &packet, &both[..count], true).unwrap();
            assert_eq!(recv(control, true).unwrap_err(), Errno::PIPE, "{packet:?}");
        });
    }
    for bytes in [&b"x"[..], &[0xff; 5000]] {
        attacked(|control| {
            rustix::io::write(control, bytes).unwrap();
            assert_eq!(recv(control, true).unwrap_err(), Errno::PIPE);
        });
    }
}

#[test]
fn orders_about_workers_that_are_not_ready_are_none() {
    attacked(|control| {
        let (lines, _socket, answer) = load(control, &wanted(), &trial());
        assert_eq!((&answer, lines.len()), (&Answer::Done, 1));
        let (line, since) = (&lines[0], now());
        let place = ready(line);
        for other in [1, 4096, usize::MAX] {
            for order in [
                Order::Spent {
                    place: other,
                    since,
                },
                Order::Why { place: other },
                Order::Thaw { place: other },
            ] {
                wire::give(line.as_fd(), order, true).unwrap();
            }
        }
        // A time that is to come, twice, about one worker.
        for since in [Duration::MAX, Duration::ZERO] {
            wire::give(line.as_fd(), Order::Spent { place, since }, true).unwrap();
        }
        let again = event(line).unwrap();
        assert!(matches!(
            again,
            Event::Ready {
                reaped: Some(_),
                ..
            }
        ));
    });
}

#[test]
fn a_line_that_breaks_the_protocol_ends_its_workers_alone() {
    attacked(|control| {
        let (lines, _socket, _) = load(control, &wanted(), &trial());
        let (others, _other, _) = load(control, &wanted(), &trial());
        let line = &lines[0];
        ready(line);
        rustix::io::write(line, b"nonsense").unwrap();
        while event(line).is_ok() {}
        let (place, since) = (ready(&others[0]), now());
        wire::give(others[0].as_fd(), Order::Spent { place, since }, true).unwrap();
        assert_eq!(ready(&others[0]), place);
    });
}

#[test]
fn names_of_other_places_open_no_log() {
    let (socket, theirs) = pair().unwrap();
    let asked = attacked(|control| {
        let long = "x".repeat(NAME + 1);
        for name in [
            "",
            ".",
            "..",
            ".hidden",
            "a/b",
            "/etc/passwd",
            "../x",
            "a\0b",
            &long,
        ] {
            let log = Some(name.to_owned());
            let question = Question::Open { log, turn: true }.encode();
            send(control, &question, &[theirs.as_fd()], true).unwrap();
            let (answer, beside) = answered(socket.as_fd()).unwrap();
            assert!(matches!(answer, Answer::Refused(..)) && beside.is_none());
        }
    });
    assert_eq!(asked, 0);
}

#[test]
fn a_flood_that_reads_no_answer_stops_nobody() {
    const FLOOD: usize = 5000;
    let (_socket, theirs) = pair().unwrap();
    let asked = attacked(|control| {
        for _ in 0..FLOOD {
            let question = Question::Announce.encode();
            send(control, &question, &[theirs.as_fd()], true).unwrap();
        }
        let (lines, _other, answer) = load(control, &wanted(), &trial());
        assert_eq!((answer, lines.len()), (Answer::Done, 1));
    });
    if rustix::process::geteuid().is_root() {
        assert_eq!(asked, FLOOD);
    }
}
