//! Small servers, and runs against them.

pub mod bare;
pub mod h2;
pub mod h2_client;
pub mod program;
pub mod quic;
pub mod quic_site;
pub mod site;
pub mod streams;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

use serde_json::{Value, json};
use tare_load::engine::progress::Second;
use tare_load::engine::{Observer, Phase};
use tare_load::spec::Spec;

/// A correct answer.
pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A server with a thread for each connection.
pub struct Server {
    pub address: SocketAddr,
    accepted: Arc<AtomicU64>,
    answered: Arc<AtomicU64>,
}

/// What a handler does with its connection afterwards.
#[derive(PartialEq)]
pub enum Then {
    Keep,
    Close,
}

impl Server {
    /// Calls `handler` for each request with its number on its connection, from 0.
    pub fn start(
        handler: impl Fn(&mut TcpStream, u64) -> io::Result<Then> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let server = Server {
            address: listener.local_addr().expect("an address"),
            accepted: Arc::default(),
            answered: Arc::default(),
        };
        let (accepted, answered) = (server.accepted.clone(), server.answered.clone());
        let handler = Arc::new(handler);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                accepted.fetch_add(1, SeqCst);
                let (handler, answered) = (handler.clone(), answered.clone());
                // A client that has gone is no error of the server.
                thread::spawn(move || serve(stream, &*handler, &answered).ok());
            }
        });
        server
    }

    /// Sends the same bytes for each request.
    pub fn always(answer: impl Into<Vec<u8>>, then: fn() -> Then) -> Self {
        let answer = answer.into();
        Server::start(move |stream, _| {
            stream.write_all(&answer)?;
            Ok(then())
        })
    }

    pub fn answered(&self) -> u64 {
        self.answered.load(SeqCst)
    }

    pub fn accepted(&self) -> u64 {
        self.accepted.load(SeqCst)
    }
}

fn serve(
    mut stream: TcpStream,
    handler: &dyn Fn(&mut TcpStream, u64) -> io::Result<Then>,
    answered: &AtomicU64,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    for number in 0.. {
        while !request.ends_with(b"\r\n\r\n") {
            let length = stream.read(&mut piece)?;
            if length == 0 {
                return Ok(());
            }
            request.extend_from_slice(&piece[..length]);
        }
        request.clear();
        answered.fetch_add(1, SeqCst);
        if handler(&mut stream, number)? == Then::Close {
            return Ok(());
        }
    }
    Ok(())
}

/// Nobody looks.
pub struct Silent;

impl Observer for Silent {
    fn second(&mut self, _: &Second, _: Phase) -> io::Result<()> {
        Ok(())
    }
    fn measure(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
    fn measured(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
}

/// A spec for a short closed loop against `address`, with `changes` made to it.
pub fn spec(address: SocketAddr, changes: &Value) -> Value {
    let mut spec = json!({
        "url": format!("http://{address}/"), "connections": 4,
        "warmup_s": 0.1, "duration_s": 0.4, "timeout_s": 20.0,
    });
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    spec
}

/// The result of a run of [`spec`].
pub fn run(address: SocketAddr, changes: &Value) -> Value {
    run_until(address, changes, &AtomicBool::new(false))
}

/// The result of a run that `interrupt` may end.
pub fn run_until(address: SocketAddr, changes: &Value, interrupt: &AtomicBool) -> Value {
    let spec = Spec::from_json(&spec(address, changes).to_string()).expect("a valid spec");
    let report = tare_load::run::run(&spec, &mut Silent, interrupt).expect("a finished run");
    serde_json::to_value(report).expect("a result is JSON")
}

/// A count in the result, by the names on the way to it.
pub fn count(result: &Value, path: &str) -> u64 {
    let value = path.split('.').fold(result, |value, name| &value[name]);
    let number = value
        .as_f64()
        .unwrap_or_else(|| panic!("{path} in {result}"));
    number as u64
}

/// All errors of the run, connections included.
pub fn errors(result: &Value) -> u64 {
    let errors = result["total"]["errors"].as_object().expect("an object");
    errors.values().filter_map(Value::as_u64).sum()
}

/// Holds of every run in which only requests fail.
pub fn assert_adds_up(result: &Value) {
    let errors = result["errors"].as_object().expect("an object");
    let failed: u64 = errors.values().filter_map(Value::as_u64).sum();
    let known = count(result, "load.completed") + failed + count(result, "load.unfinished");
    assert_eq!(count(result, "load.offered"), known, "{result}");
}
