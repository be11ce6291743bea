//! Each keeper has a line of its own: orders come over it, and go what happens to its workers.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::io::Errno;

use crate::callee::Callee;
use crate::failure::Failure;
use crate::order::{Event, Order, Reaped};
use crate::packet::{Packet, recv, recv_alone, send};

const SPENT: u64 = 7;
const WHY: u64 = 8;
const THAW: u64 = 9;
const READY: u64 = 10;
const REAPED: u64 = 11;
const FAILED: u64 = 12;
const HOPELESS: u64 = 13;
const LOG: u64 = 14;
const ENDED: u64 = 15;

/// Give a keeper an order. It may `wait` for the keeper to make room.
///
/// # Errors
///
/// The kernel's: nobody listens, or there is no room and it does not wait.
pub fn give(line: BorrowedFd<'_>, order: Order, wait: bool) -> Result<(), Errno> {
    let packet = match order {
        Order::Spent { place, since } => {
            Packet::new(SPENT, [place as u64, since.as_nanos() as u64])
        }
        Order::Why { place } => Packet::new(WHY, [place as u64]),
        Order::Thaw { place } => Packet::new(THAW, [place as u64]),
    };
    send(line, &packet, &[], wait)
}

/// Take an order, or `None` if there is none.
///
/// # Errors
///
/// `PIPE` when the broker is gone, `BADMSG` for what is no order, and the kernel's.
pub fn order(line: BorrowedFd<'_>) -> Result<Option<Order>, Errno> {
    let Some(packet) = recv_alone(line)? else {
        return Ok(None);
    };
    let place = usize::try_from(packet.numbers[0]).map_err(|_| Errno::BADMSG)?;
    Ok(Some(match packet.kind {
        SPENT => Order::Spent {
            place,
            since: Duration::from_nanos(packet.numbers[1]),
        },
        WHY => Order::Why { place },
        THAW => Order::Thaw { place },
        _ => return Err(Errno::BADMSG),
    }))
}

/// Tell the broker something, as a keeper.
///
/// # Errors
///
/// The kernel's: nobody listens.
pub fn tell(line: BorrowedFd<'_>, event: Event) -> Result<(), Errno> {
    let ns = |time: Duration| time.as_nanos() as u64;
    let (packet, beside) = match event {
        Event::Ready {
            place,
            callee: Callee::Socket { socket, shares },
            refill,
            reaped,
        } => {
            let (time, cpu_us) = reaped.map_or((0, 0), |each| (ns(each.time), each.cpu_us));
            let flags = u64::from(shares) | u64::from(reaped.is_some()) << 1;
            let numbers = [place as u64, flags, ns(refill), time, cpu_us];
            (Packet::new(READY, numbers), Some(socket))
        }
        // These are of a daemon of one process.
        Event::Ready { .. } | Event::Unreachable { .. } => return Err(Errno::OPNOTSUPP),
        Event::Reaped(Reaped { time, cpu_us }) => (Packet::new(REAPED, [ns(time), cpu_us]), None),
        Event::Failed => (Packet::new(FAILED, []), None),
        Event::Hopeless(why) => (Packet::new(HOPELESS, []).with_text(why), None),
        Event::Log(said) => (Packet::new(LOG, []), Some(said)),
        Event::Ended { place, how } => {
            let (kind, words) = encoded(how);
            (
                Packet::new(ENDED, [place as u64, kind]).with_text(words),
                None,
            )
        }
    };
    let beside: Vec<_> = beside.iter().map(AsFd::as_fd).collect();
    send(line, &packet, &beside, true)
}

/// Take what a keeper says, or `None` if it has said nothing more.
///
/// # Errors
///
/// `PIPE` when it is gone, `BADMSG` for what is no event, and the kernel's.
pub fn event(line: BorrowedFd<'_>) -> Result<Option<Event>, Errno> {
    let Some((packet, mut beside)) = recv(line, false)? else {
        return Ok(None);
    };
    let [first, second, third, fourth, fifth, ..] = packet.numbers;
    let reaped = |time, cpu_us| Reaped {
        time: Duration::from_nanos(time),
        cpu_us,
    };
    Ok(Some(match (packet.kind, beside.pop()) {
        (READY, Some(socket)) => Event::Ready {
            place: first as usize,
            callee: Callee::Socket {
                socket,
                shares: second & 1 != 0,
            },
            refill: Duration::from_nanos(third),
            reaped: (second & 2 != 0).then(|| reaped(fourth, fifth)),
        },
        (READY, None) => Event::Unreachable {
            place: first as usize,
        },
        (REAPED, _) => Event::Reaped(reaped(first, second)),
        (FAILED, _) => Event::Failed,
        (HOPELESS, _) => Event::Hopeless(packet.text),
        (LOG, Some(said)) => Event::Log(said),
        (LOG, None) => Event::Hopeless("no more descriptors".into()),
        (ENDED, _) => Event::Ended {
            place: first as usize,
            how: decoded(second, packet.text),
        },
        _ => return Err(Errno::BADMSG),
    }))
}

/// A failure of a worker's as a number and words.
fn encoded(how: Failure) -> (u64, String) {
    match how {
        Failure::Memory => (1, String::new()),
        Failure::CpuTime => (2, String::new()),
        Failure::Cancelled => (3, String::new()),
        Failure::Protocol(what) => (4, what),
        Failure::NotReady(why) => (5, why),
        Failure::Died(how) => (0, how),
        other => (0, other.to_string()),
    }
}

fn decoded(kind: u64, words: String) -> Failure {
    match kind {
        1 => Failure::Memory,
        2 => Failure::CpuTime,
        3 => Failure::Cancelled,
        4 => Failure::Protocol(words),
        5 => Failure::NotReady(words),
        _ => Failure::Died(words),
    }
}

/// A worker that got ready, whose descriptor the broker could not have.
#[cfg(test)]
pub fn lost(place: u64) -> Packet {
    Packet::new(READY, [place])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::pair;

    #[test]
    fn orders_and_events_arrive() {
        let (here, there) = pair().unwrap();
        let since = Duration::from_nanos(123);
        for given in [
            Order::Spent { place: 3, since },
            Order::Why { place: 4 },
            Order::Thaw { place: 5 },
        ] {
            give(here.as_fd(), given, true).unwrap();
            assert_eq!(order(there.as_fd()), Ok(Some(given)));
        }
        for how in [
            Failure::Memory,
            Failure::CpuTime,
            Failure::Cancelled,
            Failure::Protocol("a".into()),
            Failure::NotReady("b".into()),
            Failure::Died("c".into()),
        ] {
            let ended = Event::Ended {
                place: 8,
                how: how.clone(),
            };
            tell(there.as_fd(), ended).unwrap();
            let found = event(here.as_fd()).unwrap();
            assert!(matches!(found, Some(Event::Ended { place: 8, how: found }) if found == how));
        }
        tell(there.as_fd(), Event::Log(pair().unwrap().0)).unwrap();
        assert!(matches!(event(here.as_fd()), Ok(Some(Event::Log(_)))));
        assert!(matches!(event(here.as_fd()), Ok(None)));
        let (socket, _) = pair().unwrap();
        let ready = Event::Ready {
            place: 7,
            callee: Callee::Socket {
                socket,
                shares: false,
            },
            refill: since,
            reaped: Some(Reaped {
                time: since,
                cpu_us: 9,
            }),
        };
        tell(there.as_fd(), ready).unwrap();
        let Ok(Some(Event::Ready {
            place: 7,
            callee: Callee::Socket { shares: false, .. },
            refill,
            reaped: Some(reaped),
        })) = event(here.as_fd())
        else {
            panic!("another event");
        };
        assert_eq!((refill, reaped.time, reaped.cpu_us), (since, since, 9));
        send(there.as_fd(), &lost(6), &[], true).unwrap();
        let found = event(here.as_fd());
        assert!(matches!(found, Ok(Some(Event::Unreachable { place: 6 }))));
        send(there.as_fd(), &Packet::new(SPENT, []), &[], true).unwrap();
        assert!(event(here.as_fd()).is_err());
    }
}
