//! A QUIC server with several addresses: attempts to connect overlap.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::quic;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tare_load::h3::{self, H3, Setup};
use tare_load::protocol::{Event, Protocol};
use tare_load::spec::Tls;
use tare_load::stream::endpoint::{Address, Endpoint};
use tare_load::stream::tls::terms::Terms;
use tare_load::stream::tls::trust::Trust;

/// A server that makes connections and says nothing.
fn live() -> SocketAddr {
    quic::serve(h3::ALPN, |connection| async move {
        connection.closed().await;
        Ok(())
    })
}

fn setup(addresses: &[SocketAddr]) -> Setup {
    let spec = Tls::default();
    let hosts = ["localhost"].into_iter();
    let terms = Terms::of(&spec, Trust::Loopback, hosts, h3::ALPN).expect("terms");
    let endpoint = Endpoint {
        addresses: addresses.iter().copied().map(Address::Inet).collect(),
        sources: vec![],
        congestion: None,
        proxy: None,
    };
    let timeout = Duration::from_secs(60);
    Setup::new(
        vec![endpoint],
        vec!["localhost".into()],
        terms.quic(),
        timeout,
    )
    .expect("a setup")
}

type Attempts = <H3<'static> as Protocol>::Connection;

/// Let the next timer run out.
fn expire(h3: &mut H3<'_>, connection: &mut Attempts, events: &mut Vec<Event>) {
    let due = h3.timer(connection).expect("a timer");
    thread::sleep(due.saturating_duration_since(Instant::now()));
    h3.expire(connection, events).expect("attempts");
    h3.flush(connection).expect("attempts");
}

#[test]
fn a_silent_address_is_still_tried_while_others_are() {
    let silent = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").expect("a free port"));
    let addresses = silent
        .each_ref()
        .map(|one| one.local_addr().expect("an address"));
    let setup = setup(&addresses);
    let mut h3 = H3::new(&setup, &[], 1, vec![]);
    let mut connection = h3.open(0).expect("a connection");
    h3.flush(&mut connection).expect("a packet");
    let mut piece = [0; 2000];
    let (_, first) = silent[0].recv_from(&mut piece).expect("a packet");
    let mut events = Vec::new();
    while h3.unwatched(&mut connection).is_none() {
        expire(&mut h3, &mut connection, &mut events);
    }
    silent[1].recv_from(&mut piece).expect("a packet");
    // The first attempt goes on: its packets are sent again.
    silent[0].set_nonblocking(true).expect("a socket");
    while silent[0].recv_from(&mut piece).is_ok() {}
    silent[0].set_nonblocking(false).expect("a socket");
    let again = thread::spawn(move || silent[0].recv_from(&mut [0; 2000]).expect("a packet").1);
    while !again.is_finished() {
        expire(&mut h3, &mut connection, &mut events);
    }
    assert_eq!(again.join().expect("a packet"), first);
    assert!(events.is_empty() && h3.room(&connection) == 0);
}

#[test]
fn the_first_that_answers_wins() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let closed = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let addresses = [
        closed.expect("an address"),
        silent.local_addr().expect("an address"),
        live(),
    ];
    let setup = setup(&addresses);
    let mut h3 = H3::new(&setup, &[], 1, vec![]);
    let mut connection = h3.open(0).expect("a connection");
    let mut events = Vec::new();
    h3.flush(&mut connection).expect("a packet");
    while events.is_empty() {
        let mut watched = [PollFd::new(&connection, PollFlags::IN)];
        let moment = Timespec {
            tv_sec: 0,
            tv_nsec: 10_000_000,
        };
        poll(&mut watched, Some(&moment)).expect("a socket");
        h3.ready(&mut connection, false, &mut events)
            .expect("attempts");
        h3.flush(&mut connection).expect("attempts");
        let due = h3.timer(&mut connection);
        if due.is_some_and(|at| at <= Instant::now()) {
            expire(&mut h3, &mut connection, &mut events);
        }
    }
    assert_eq!(events, [Event::Connected]);
}
