//! Servers of bytes, over TCP or a Unix socket.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};
use tare_load::spec::Spec;

use super::Silent;

/// A stream in both directions.
pub trait Both: Read + Write + Send {}

impl<T: Read + Write + Send> Both for T {}

/// Calls `handler` with each connection to a free port of `host`.
pub fn tcp(
    host: &str,
    handler: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind((host, 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let handler = Arc::new(handler);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handler = handler.clone();
            stream.set_nodelay(true).expect("a TCP socket");
            // A client that has gone is no error of the server.
            thread::spawn(move || handler(stream).ok());
        }
    });
    address
}

/// A Unix socket in a folder of its own, which goes with it.
pub struct Socket(pub PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Calls `handler` with each connection to a new Unix socket.
pub fn unix(
    name: &str,
    handler: impl Fn(&mut dyn Both) -> io::Result<()> + Send + Sync + 'static,
) -> Socket {
    let path = std::env::temp_dir().join(format!("tare-load-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(Path::new(&path)).expect("a free name");
    let handler = Arc::new(handler);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let handler = handler.clone();
            thread::spawn(move || handler(&mut stream).ok());
        }
    });
    Socket(path)
}

/// Sends back what it is sent.
pub fn echo(stream: &mut (impl Read + Write + ?Sized)) -> io::Result<()> {
    let mut piece = [0; 1000];
    loop {
        let length = stream.read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        stream.write_all(&piece[..length])?;
    }
}

/// The result of a short run on `url`, with `changes` made to its spec.
pub fn run(url: &str, changes: &Value) -> Value {
    let mut spec = json!({
        "url": url, "connections": 4, "warmup_s": 0.1, "duration_s": 0.4, "timeout_s": 20.0,
    });
    for (field, value) in changes.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    let spec = Spec::from_json(&spec.to_string()).expect("a valid spec");
    let interrupt = std::sync::atomic::AtomicBool::new(false);
    let report = tare_load::run::run(&spec, &mut Silent, &interrupt).expect("a finished run");
    serde_json::to_value(report).expect("a result is JSON")
}
