//! One handshake before a run, which shows the protocol that a server chooses.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustls::ClientConnection;

use super::reason;
use super::terms::Terms;
use crate::stream::addresses::Order;
use crate::stream::endpoint::{Endpoint, greet};
use crate::stream::link::Link;

const LATE: &str = "no TLS handshake in time";

/// The protocol that the server of target `target`, at `endpoint`, chooses among those of `offer`, in
/// the order of preference; none if it does not take part in the choice. All takes `timeout` at most,
/// and ends with a signal that sets `interrupt`.
///
/// # Errors
/// A sentence about the connection or handshake that failed.
pub fn alpn(
    terms: &Terms,
    target: usize,
    endpoint: &Endpoint,
    offer: &[&[u8]],
    timeout: Duration,
    interrupt: &AtomicBool,
) -> Result<Option<Vec<u8>>, String> {
    let mut config = terms.quic();
    config.alpn_protocols = offer.iter().map(|name| name.to_vec()).collect();
    let name = terms.names[target].clone();
    let mut connection =
        ClientConnection::new(Arc::new(config), name).map_err(|why| why.to_string())?;
    let deadline = Instant::now() + timeout;
    let socket = connect(endpoint, deadline, interrupt)?;
    shake(&mut connection, socket, endpoint, deadline, interrupt)?;
    Ok(connection.alpn_protocol().map(<[u8]>::to_vec))
}

/// Make the handshake.
fn shake(
    connection: &mut ClientConnection,
    mut socket: TcpStream,
    endpoint: &Endpoint,
    deadline: Instant,
    interrupt: &AtomicBool,
) -> Result<(), String> {
    // Of all calls together: a server may send byte by byte.
    let left = || {
        let left = deadline.saturating_duration_since(Instant::now());
        Some(left).filter(|left| !left.is_zero()).ok_or(LATE)
    };
    socket.set_nonblocking(false).map_err(text)?;
    socket.set_write_timeout(Some(left()?)).map_err(text)?;
    let mut header = Vec::new();
    greet(endpoint, &socket, &mut header);
    socket.write_all(&header).map_err(text)?;
    while connection.is_handshaking() {
        if connection.wants_write() {
            connection.write_tls(&mut socket).map_err(text)?;
            continue;
        }
        refuse(interrupt)?;
        socket.set_read_timeout(Some(left()?)).map_err(text)?;
        match connection.read_tls(&mut socket) {
            Ok(0) => return Err("closed before it could be used".into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(text(error)),
        }
        let processed = connection.process_new_packets();
        processed.map_err(|why| reason::handshake(&why))?;
    }
    connection.send_close_notify();
    // The answer is known whatever becomes of the connection.
    let _ = connection.write_tls(&mut socket);
    let _ = socket.shutdown(Shutdown::Write);
    Ok(())
}

/// A connection to the first of the endpoint's addresses that answers.
fn connect(
    endpoint: &Endpoint,
    deadline: Instant,
    interrupt: &AtomicBool,
) -> Result<TcpStream, String> {
    let failed = |error: Errno| text(error.into());
    let order = Order::from(0, endpoint.addresses.len());
    let mut opened = 0;
    let mut link = Link::open(endpoint, order, &mut opened).map_err(failed)?;
    loop {
        refuse(interrupt)?;
        let now = Instant::now();
        if now >= deadline {
            return Err("no connection in time".into());
        }
        if link.timer().is_some_and(|at| at <= now) {
            link.expire(endpoint, &mut opened);
        }
        let until = link.timer().map_or(deadline, |at| at.min(deadline));
        let time = Timespec::try_from(until.saturating_duration_since(now));
        let time = time.map_err(|why| why.to_string())?;
        let mut watched: Vec<PollFd<'_>> = link
            .sockets()
            .map(|socket| PollFd::new(socket, PollFlags::OUT))
            .collect();
        let ready = match poll(&mut watched, Some(&time)) {
            Err(Errno::INTR) => continue,
            ready => ready.map_err(failed)?,
        };
        if ready > 0 && link.settle(endpoint, &mut opened).map_err(failed)? {
            // A Unix socket takes the same calls.
            return Ok(OwnedFd::from(link).into());
        }
    }
}

/// Fail if a signal came.
fn refuse(interrupt: &AtomicBool) -> Result<(), String> {
    match interrupt.load(Relaxed) {
        true => Err("stopped by a signal".into()),
        false => Ok(()),
    }
}

fn text(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => LATE.into(),
        _ => error.to_string(),
    }
}
