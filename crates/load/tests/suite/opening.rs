//! The opening of connections: the time that one takes, and one that is closed at once.

use crate::common::h2 as frames;
use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use crate::common::Silent;
use crate::common::h2_client::exchange;
use http::Method;
use tare_load::echo::{Echo, Messages};
use tare_load::engine::Load;
use tare_load::h2::H2;
use tare_load::keys::Keys;
use tare_load::pipeline::Pipeline;
use tare_load::protocol::{End, Event, ExchangeId, Failure, Protocol, Reading, RequestId};
use tare_load::spec::Spec;
use tare_load::stream::Stream;
use tare_load::stream::endpoint::{Address, Endpoint};
use tare_load::stream::plain::Plain;

/// A protocol whose connections take long to open, and are made at once.
struct Slow;

/// A protocol whose connections on the first thread are files, which cannot be watched.
struct Files(usize);

struct Connection {
    own: UnixStream,
    _peer: UnixStream,
    told: bool,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }
}

impl Protocol for Slow {
    type Connection = Connection;

    fn open(&mut self, _: usize) -> Result<Connection, End> {
        thread::sleep(Duration::from_millis(20));
        let (own, peer) = UnixStream::pair().expect("a pair");
        Ok(Connection {
            own,
            _peer: peer,
            told: false,
        })
    }

    fn room(&self, _: &Connection) -> usize {
        0
    }

    fn awaited(&self, _: &Connection) -> &'static str {
        "never"
    }

    fn send(&mut self, _: &mut Connection, _: RequestId, _: ExchangeId) -> Result<(), End> {
        unreachable!("there is no room")
    }

    fn flush(&mut self, _: &mut Connection) -> Result<(), End> {
        Ok(())
    }

    fn ready(
        &mut self,
        connection: &mut Connection,
        _: bool,
        events: &mut Vec<Event>,
    ) -> Result<Reading, End> {
        if !std::mem::replace(&mut connection.told, true) {
            events.push(Event::Connected);
        }
        Ok(Reading::Drained)
    }
}

impl Protocol for Files {
    type Connection = OwnedFd;

    fn open(&mut self, _: usize) -> Result<OwnedFd, End> {
        Ok(match self.0 {
            0 => File::open("/dev/null").expect("a file").into(),
            _ => UnixStream::pair().expect("a pair").0.into(),
        })
    }

    fn room(&self, _: &OwnedFd) -> usize {
        0
    }

    fn awaited(&self, _: &OwnedFd) -> &'static str {
        "never"
    }

    fn send(&mut self, _: &mut OwnedFd, _: RequestId, _: ExchangeId) -> Result<(), End> {
        unreachable!("there is no room")
    }

    fn flush(&mut self, _: &mut OwnedFd) -> Result<(), End> {
        Ok(())
    }

    fn ready(&mut self, _: &mut OwnedFd, _: bool, _: &mut Vec<Event>) -> Result<Reading, End> {
        Ok(Reading::Drained)
    }
}

fn loaded(json: &str) -> Load {
    let spec = Spec::from_json(json).expect("a spec");
    let choice = tare_load::engine::picks::Choice::Sole(0);
    tare_load::plan::load(&spec, vec![choice]).expect("a load")
}

#[test]
fn a_thread_that_fails_ends_the_run() {
    let load = loaded(
        r#"{"url": "http://127.0.0.1:1/", "connections": 2, "threads": 2, "duration_s": 3000,
            "timeout_s": 3000}"#,
    );
    let interrupt = AtomicBool::new(false);
    let outcome = tare_load::engine::run(&load, Files, &mut Silent, &interrupt);
    assert!(outcome.is_err());
}

#[test]
fn a_connection_s_time_begins_with_its_own_opening() {
    let load = loaded(
        r#"{"url": "http://127.0.0.1:1/", "connections": 10, "warmup_s": 0, "duration_s": 0.1,
            "timeout_s": 60}"#,
    );
    let interrupt = AtomicBool::new(false);
    let outcome = tare_load::engine::run(&load, |_| Slow, &mut Silent, &interrupt);
    let connect = outcome.expect("a run").tally.connect;
    assert_eq!(connect.len(), 10);
    // The last one waited for none of the others.
    assert!(
        connect.min() < connect.max() / 2,
        "{} of {}",
        connect.min(),
        connect.max()
    );
}

fn endpoint(listener: &TcpListener) -> Endpoint {
    Endpoint {
        addresses: vec![Address::Inet(listener.local_addr().expect("an address"))],
        sources: Vec::new(),
        congestion: None,
        proxy: None,
    }
}

#[test]
fn what_a_server_says_first_is_read_with_the_edge_that_it_came_with() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let endpoints = [endpoint(&listener)];
    let exchanges = exchange(&Method::GET, b"");
    let keys = vec![Keys::new(None, 0, 0, (0, 1))];
    let dialogue = H2::new(&exchanges, 10, keys);
    let mut stream = Stream::new(&endpoints, dialogue, Plain::default());
    let mut connection = stream.open(0).expect("a connection");
    let (mut peer, _) = listener.accept().expect("a client");
    peer.write_all(&frames::settings(&[]))
        .expect("a connection");
    let mut events = Vec::new();
    let ready = stream.ready(&mut connection, false, &mut events);
    assert!(ready.is_ok(), "{ready:?}");
    // Before the server's settings it takes one.
    assert_eq!(stream.room(&connection), 10);
}

#[test]
fn a_connection_that_is_closed_as_soon_as_it_is_made_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let endpoints = [endpoint(&listener)];
    let messages = Messages::new(1, 64);
    let dialogue = Pipeline::new(Echo::new(&messages, 0), 1);
    let mut stream = Stream::new(&endpoints, dialogue, Plain::default());
    let mut connection = stream.open(0).expect("a connection");
    drop(listener.accept().expect("a client"));
    let mut events = Vec::new();
    let ended = stream.ready(&mut connection, true, &mut events);
    let why = Failure::connect("closed before it could be used");
    assert_eq!(ended, Err(End::Broken(why)));
}
