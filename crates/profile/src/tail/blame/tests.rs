//! Requests whose time has known causes, told by made-up events.

use super::super::events::{By, Event, FOREIGN, Kind, Left, Ports};
use super::*;

const SERVER: u16 = 80;
/// Two tasks of the server.
const ONE: u32 = 1;
const TWO: u32 = 2;
/// A task of another role.
const BACKEND: u32 = 3;
const SYN_SENT: u8 = 2;

fn role_of(task: u32) -> u8 {
    match task {
        ONE | TWO => 0,
        BACKEND => 1,
        _ => FOREIGN,
    }
}

fn event(at: u64, task: u32, kind: Kind) -> Event {
    Event {
        at,
        cpu: 0,
        task,
        role: role_of(task),
        kind,
    }
}

fn switched(at: u64, task: u32, left: Left, next: u32) -> Event {
    let mut name = [0; 16];
    name[..5].copy_from_slice(if next > TWO { b"noisy" } else { b"serve" });
    event(
        at,
        task,
        Kind::Switched {
            left,
            next,
            next_role: role_of(next),
            name,
        },
    )
}

fn on(port: u16) -> Ports {
    Ports {
        own: SERVER,
        other: port,
    }
}

fn futex() -> Left {
    Left::Blocked(Some(syscalls::Sysno::futex.id() as u32))
}

fn poll() -> Left {
    Left::Blocked(Some(syscalls::Sysno::epoll_wait.id() as u32))
}

/// The parts of the last row's time; a row is opened, connected, intended, sent, answered.
fn parts(events: &[Event], rows: &[(u16, [u64; 5])]) -> Vec<(Cause, u64)> {
    let rows: Vec<_> = rows
        .iter()
        .map(|(port, times)| (*port, *times, [0, 0]))
        .collect();
    parts_of_streams(events, &rows)
}

/// The same of rows with the places at which a request and its answer end in their connection's bytes.
fn parts_of_streams(events: &[Event], rows: &[(u16, [u64; 5], [u64; 2])]) -> Vec<(Cause, u64)> {
    let row = |(port, times, ends): &(u16, [u64; 5], [u64; 2])| {
        let cells = times
            .iter()
            .chain(ends)
            .map(u64::to_string)
            .collect::<Vec<_>>();
        format!("0,{port},{}\n", cells.join(","))
    };
    let text: String = rows.iter().map(row).collect();
    let requests = Requests::of(&format!("heading\n{text}")).expect("well formed");
    let seen = Seen {
        tasks: Tasks::of(events),
        sockets: Sockets::of(events, &[SERVER].into(), requests.have_places()),
        requests,
    };
    let (port, [opened, connected, intended, sent, answered], ends) = rows[rows.len() - 1];
    let last = Request {
        port,
        opened,
        connected,
        intended,
        sent,
        answered,
        ends,
    };
    let parts = seen.parts(&last);
    assert_eq!(parts.values().sum::<u64>(), last.latency(), "they add up");
    parts.into_iter().collect()
}

#[test]
fn a_request_waits_behind_another_and_behind_a_neighbour() {
    let events = [
        switched(0, 9, Left::Preempted, ONE),
        event(10, ONE, Kind::Read(on(51), 0)),
        event(12, 0, Kind::Arrived(on(52))),
        switched(30, ONE, Left::Preempted, 9),
        switched(70, 9, Left::Preempted, ONE),
        event(80, ONE, Kind::Written(on(51), 0)),
        event(82, ONE, Kind::Read(on(52), 0)),
        event(90, ONE, Kind::Written(on(52), 0)),
    ];
    assert_eq!(
        parts(&events, &[(52, [1, 2, 5, 8, 95])]),
        [
            (Cause::Generator, 3),
            (Cause::Sending, 4),
            (Cause::OtherRequest, 18 + 10),
            (Cause::Housekeeping, 2),
            (Cause::Own, 8),
            (Cause::RunQueue("noisy".into(), false), 40),
            (Cause::Returning, 5),
        ]
    );
}

#[test]
fn only_tasks_of_the_same_role_are_the_servers_own() {
    let events = [
        switched(0, 9, Left::Preempted, ONE),
        event(10, ONE, Kind::Read(on(51), 0)),
        switched(20, ONE, Left::Preempted, TWO),
        switched(30, TWO, Left::Preempted, BACKEND),
        switched(50, BACKEND, Left::Preempted, ONE),
        event(60, ONE, Kind::Written(on(51), 0)),
    ];
    assert_eq!(
        parts(&events, &[(51, [1, 2, 10, 10, 60])]),
        [
            (Cause::Own, 10 + 10),
            (Cause::RunQueue("noisy".into(), false), 20),
            (Cause::RunQueue("serve".into(), true), 10),
        ]
    );
}

#[test]
fn the_time_before_the_send_is_that_of_the_request_before() {
    let events = [
        switched(0, 9, Left::Preempted, ONE),
        event(12, ONE, Kind::Read(on(51), 0)),
        switched(20, ONE, futex(), 0),
        event(90, ONE, Kind::Woken(false)),
        switched(92, 0, Left::Preempted, ONE),
        event(100, ONE, Kind::Written(on(51), 0)),
        event(112, ONE, Kind::Read(on(51), 0)),
        event(114, ONE, Kind::Written(on(51), 0)),
    ];
    let rows = [(51, [1, 2, 10, 10, 105]), (51, [1, 2, 30, 110, 118])];
    assert_eq!(
        parts(&events, &rows),
        [
            (Cause::Generator, 5),
            (Cause::Own, 8 + 2),
            (Cause::Idle, 2),
            (Cause::Lock, 60),
            (Cause::Returning, 5 + 4),
            (Cause::Housekeeping, 2),
        ]
        .into_iter()
        .collect::<Parts>()
        .into_iter()
        .collect::<Vec<_>>()
    );
}

#[test]
fn a_connection_that_is_made_late_says_why() {
    let events = [
        event(1000, 0, Kind::SentAgain(on(51), SYN_SENT)),
        switched(1040, 0, Left::Preempted, ONE),
        event(1060, ONE, Kind::Read(on(51), 0)),
        event(1070, ONE, Kind::Written(on(51), 0)),
    ];
    let row = (51, [10, 1050, 5, 1055, 1075]);
    assert_eq!(
        parts(&events, &[row]),
        [
            (Cause::Generator, 5),
            (Cause::NoConnection, 5),
            (Cause::Resent, 1040),
            (Cause::Housekeeping, 5),
            (Cause::Own, 10),
            (Cause::Returning, 5),
        ]
    );
    let (_, first) = parts(&events[1..], &[row]).swap_remove(2);
    assert_eq!(first, 1040);
}

#[test]
fn a_task_that_answers_for_another_is_followed() {
    let events = [
        switched(0, 9, Left::Preempted, ONE),
        event(10, ONE, Kind::Read(on(51), 0)),
        switched(15, ONE, poll(), 0),
        event(40, TWO, Kind::Woken(true)),
        switched(60, 0, Left::Preempted, TWO),
        event(70, TWO, Kind::Written(on(51), 0)),
    ];
    assert_eq!(
        parts(&events, &[(51, [1, 2, 10, 10, 75])]),
        [
            (Cause::Own, 5 + 10),
            (Cause::Held, 20),
            (Cause::Asleep, 25),
            (Cause::Returning, 5),
        ]
    );
}

#[test]
fn a_task_whose_write_ends_after_its_answer_came_is_followed() {
    let before = [
        switched(0, 9, Left::Preempted, ONE),
        event(10, ONE, Kind::Read(on(51), 0)),
        switched(15, ONE, poll(), 0),
        event(40, TWO, Kind::Woken(false)),
        switched(40, 0, Left::Preempted, TWO),
    ];
    let write = |at| event(at, TWO, Kind::Written(on(51), 0));
    let read = |at| event(at, ONE, Kind::Read(on(51), 0));
    let found = |after: [Event; 2]| {
        let events = [&before[..], &after[..]].concat();
        parts(&events, &[(51, [1, 2, 10, 10, 75])])
    };
    assert_eq!(
        found([write(76), read(90)]),
        [(Cause::Own, 5 + 35), (Cause::Asleep, 25)]
    );
    // That of the next answer tells nothing of this one.
    assert_eq!(
        found([read(80), write(90)]),
        [(Cause::Own, 5), (Cause::Asleep, 60)]
    );
}

#[test]
fn another_servers_answer_is_waited_for() {
    let other = Ports {
        own: 4000,
        other: 90,
    };
    let events = [
        switched(0, 9, Left::Preempted, ONE),
        event(10, ONE, Kind::Read(on(51), 0)),
        event(12, ONE, Kind::Written(other, 0)),
        switched(15, ONE, poll(), 0),
        event(50, ONE, Kind::Woken(false)),
        switched(50, 0, Left::Preempted, ONE),
        event(52, ONE, Kind::Read(other, 0)),
        event(55, ONE, Kind::Written(on(51), 0)),
    ];
    let found = parts(&events, &[(51, [1, 2, 10, 10, 60])]);
    assert_eq!(
        found,
        [
            (Cause::Own, 10),
            (Cause::Backend, 35),
            (Cause::Returning, 5)
        ]
    );
}

#[test]
fn requests_of_one_connection_are_told_apart_by_their_bytes() {
    // The first request ends at byte 100 and the second at 150, their answers at 80 and at 40.
    let events = [
        switched(0, 9, Left::Preempted, ONE),
        event(10, ONE, Kind::Read(on(51), 100)),
        switched(20, ONE, futex(), 0),
        event(30, ONE, Kind::Woken(false)),
        switched(30, 0, Left::Preempted, ONE),
        event(32, ONE, Kind::Read(on(51), 150)),
        event(40, ONE, Kind::Written(on(51), 40)),
        event(60, ONE, Kind::Written(on(51), 80)),
        event(61, ONE, Kind::Written(on(51), 90)),
    ];
    let first = (51, [1, 2, 8, 8, 70], [100, 80]);
    let second = (51, [1, 2, 15, 15, 45], [150, 40]);
    assert_eq!(
        parts_of_streams(&events, &[second, first]),
        [
            (Cause::Housekeeping, 2),
            (Cause::Shared, 10 + 30),
            (Cause::Lock, 10),
            (Cause::Returning, 10),
        ]
    );
    assert_eq!(
        parts_of_streams(&events, &[first, second]),
        [
            (Cause::OtherRequest, 5 + 2),
            (Cause::Shared, 8),
            (Cause::Lock, 10),
            (Cause::Returning, 5),
        ]
    );
}

#[test]
fn a_request_waits_for_the_answer_that_made_room() {
    let events = [
        switched(0, 9, Left::Preempted, ONE),
        event(10, ONE, Kind::Read(on(51), 100)),
        event(20, ONE, Kind::Written(on(51), 30)),
        event(50, ONE, Kind::Written(on(51), 60)),
        event(62, ONE, Kind::Read(on(51), 150)),
        event(64, ONE, Kind::Written(on(51), 90)),
    ];
    let quick = (51, [1, 2, 9, 9, 25], [50, 30]);
    let slow = (51, [1, 2, 9, 9, 55], [100, 60]);
    let last = (51, [1, 2, 40, 60, 66], [150, 90]);
    assert_eq!(
        parts_of_streams(&events, &[slow, quick, last]),
        [
            (Cause::Generator, 5),
            (Cause::Housekeeping, 2),
            (Cause::Own, 10 + 2),
            (Cause::Returning, 5 + 2),
        ]
    );
}

#[test]
fn what_takes_the_cpu_from_its_task_is_told() {
    const NET_RX: u8 = 3;
    let events = [
        switched(0, 9, Left::Preempted, ONE),
        event(10, ONE, Kind::Read(on(51), 0)),
        event(20, 0, Kind::Taken(15, By::Hypervisor)),
        event(30, 0, Kind::Taken(8, By::Softirq(NET_RX))),
        // A part of it was the hypervisor's.
        event(40, 0, Kind::Taken(5, By::Hypervisor)),
        event(41, 0, Kind::Taken(8, By::Softirq(NET_RX))),
        switched(45, ONE, poll(), 0),
        event(50, ONE, Kind::Woken(false)),
        event(60, 0, Kind::Taken(4, By::Softirq(NET_RX))),
        switched(60, 0, Left::Preempted, ONE),
        event(70, ONE, Kind::Written(on(51), 0)),
    ];
    assert_eq!(
        parts(&events, &[(51, [1, 2, 10, 10, 70])]),
        [
            (Cause::Own, 2 + 3 + 4 + 10),
            (Cause::Idle, 6),
            (Cause::Stolen, 10 + 5),
            (Cause::Softirq("NET_RX"), 8 + 3 + 4),
            (Cause::Asleep, 5),
        ]
    );
}

#[test]
fn a_name_has_nothing_that_a_terminal_obeys() {
    assert_eq!(printable(b"a\x1b[2J\n"), "a\u{fffd}[2J\u{fffd}");
}

#[test]
fn what_was_not_seen_says_so() {
    assert_eq!(
        parts(&[], &[(51, [1, 2, 10, 10, 60])]),
        [(Cause::Unseen, 50)]
    );
}
