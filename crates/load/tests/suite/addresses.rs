//! A target with several addresses: they are tried in their order.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;

use rustix::net::{AddressFamily, SocketType};
use serde_json::{Value, json};
use tare_load::echo::{Echo, Messages};
use tare_load::engine::picks::Choice;
use tare_load::engine::{self, Outcome};
use tare_load::pipeline::Pipeline;
use tare_load::plan;
use tare_load::spec::Spec;
use tare_load::stream::Stream;
use tare_load::stream::endpoint::{Address, Endpoint};
use tare_load::stream::plain::Plain;

use crate::common::{Silent, bare};

fn run(addresses: Vec<Address>, changes: &Value) -> Outcome {
    let mut spec = json!({"url": "tcp://127.0.0.1:1", "connections": 4, "requests": 40,
                          "warmup_s": 0, "duration_s": 600, "timeout_s": 600});
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    let spec = Spec::from_json(&spec.to_string()).expect("a spec");
    let load = plan::load(&spec, vec![Choice::Sole(0)]).expect("a load");
    let endpoints = [Endpoint {
        addresses,
        sources: vec![],
        congestion: None,
        proxy: None,
    }];
    let messages = Messages::new(1, 64);
    let protocol = |thread| {
        let echo = Pipeline::new(Echo::new(&messages, thread), 1);
        Stream::new(&endpoints, echo, Plain::default())
    };
    let interrupt = AtomicBool::new(false);
    engine::run(&load, protocol, &mut Silent, &interrupt).expect("a finished run")
}

/// Nobody listens on its port, which is held to the end of all tests: else a server of another one
/// might get it.
fn refusing() -> Address {
    let held = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None);
    let held = held.expect("a socket");
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    rustix::net::bind(&held, &any).expect("a free port");
    let address = rustix::net::getsockname(&held).expect("an address");
    std::mem::forget(held);
    Address::Inet(SocketAddr::try_from(address).expect("of the Internet"))
}

fn live() -> Address {
    Address::Inet(bare::tcp("127.0.0.1", |mut stream| bare::echo(&mut stream)))
}

/// A server whose backlog is full, so that its kernel drops what would connect.
fn silent() -> (OwnedFd, Vec<OwnedFd>, Address) {
    let socket = || rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None);
    let listener = socket().expect("a socket");
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    rustix::net::bind(&listener, &any).expect("a free port");
    rustix::net::listen(&listener, 0).expect("a server");
    let address = rustix::net::getsockname(&listener).expect("an address");
    let address = SocketAddr::try_from(address).expect("of the Internet");
    let fill = |_| {
        let client = socket().expect("a socket");
        rustix::io::ioctl_fionbio(&client, true).expect("a socket");
        let _ = rustix::net::connect(&client, &address);
        client
    };
    (listener, (0..3).map(fill).collect(), Address::Inet(address))
}

#[test]
fn the_first_that_can_be_reached_is_used() {
    let missing = Address::Unix("/no/such/socket".into());
    let (_listener, _clients, silent) = silent();
    // Were it tried for as long as a connection may take, no other would be.
    for addresses in [
        vec![live(), refusing()],
        vec![refusing(), live()],
        vec![missing.clone(), refusing(), live(), missing],
        vec![silent.clone(), live()],
        vec![silent.clone(), refusing(), silent.clone(), live(), silent],
    ] {
        let outcome = run(addresses, &json!({"threads": 2}));
        assert_eq!(outcome.tally.total.failures.sum(), 0);
        assert_eq!(outcome.tally.answered, 40);
    }
}

#[test]
fn it_is_one_error_when_none_can_be_reached() {
    let outcome = run(vec![refusing(), refusing()], &json!({"connections": 1}));
    // One more than the 50 that may fail beside a connection.
    assert_eq!(outcome.tally.total.failures.sum(), 52);
    assert_eq!(outcome.tally.offered, 0);
}
