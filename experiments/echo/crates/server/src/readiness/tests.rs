//! Edge-triggered flows: turns, and reading to the end.

use std::io::{Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

use super::*;
use crate::copy::Copy;

/// Moves pieces without end, and counts them.
struct Endless;

impl Mover for Endless {
    type Flow = ();

    fn flow(&mut self) -> Result<()> {
        Ok(())
    }

    fn pump(
        &mut self,
        (): &mut (),
        _: BorrowedFd<'_>,
        _: BorrowedFd<'_>,
        counters: &Counters,
    ) -> Result<State, Errno> {
        counters.forwarded(1);
        Ok(State::Moved)
    }
}

/// A client's end, and the server's, which does not wait.
fn pair() -> (UnixStream, OwnedFd) {
    let (client, server) = UnixStream::pair().expect("sockets");
    server.set_nonblocking(true).expect("a socket's option");
    (client, server.into())
}

#[test]
fn a_source_without_end_gives_way_and_goes_on_without_an_event() {
    let counters = Counters::default();
    let mut own = Forwarder::new(Endless, Trigger::Edge, &counters).expect("epoll");
    let (mut clients, mut turns) = (Vec::new(), 0);
    for _ in 0..2 {
        let (mut client, server) = pair();
        client.write_all(b"?").expect("room");
        own.adopt(vec![server]).expect("a place");
        clients.push(client);
    }
    for _ in 0..3 {
        own.turn(None).expect("no error");
        // An event of one that has its turn anyway gives it no second one.
        clients[0].write_all(b"?").expect("room");
        turns += 2;
        assert_eq!(counters.moved().messages, turns * TURN as u64);
    }
    // What was given up has no turn left.
    own.give_up();
    own.turn(Some(Duration::ZERO)).expect("no error");
    assert_eq!(counters.moved().messages, turns * TURN as u64);
}

#[test]
fn what_came_in_one_event_is_read_to_its_end() {
    let counters = Counters::default();
    let mut own = Forwarder::new(Copy::new(), Trigger::Edge, &counters).expect("epoll");
    let (mut client, server) = pair();
    let message: Vec<u8> = (0..150_000).map(|at| (at % 251) as u8).collect();
    let mut sender = client.try_clone().expect("a descriptor");
    let sent = message.clone();
    let sending = std::thread::spawn(move || {
        sender.write_all(&sent).expect("it is read");
        sender.shutdown(std::net::Shutdown::Write).expect("an end");
    });
    own.adopt(vec![server]).expect("a place");
    let reading = std::thread::spawn(move || {
        let mut found = Vec::new();
        client.read_to_end(&mut found).expect("no error");
        found
    });
    while !own.is_empty() {
        own.turn(None).expect("no error");
    }
    sending.join().expect("sent");
    assert!(reading.join().expect("read") == message);
}
