//! One handshake before a run, which shows the protocol that a server chooses.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConnection;

use super::reason;
use super::terms::Terms;
use crate::stream::endpoint::{Endpoint, greet};

const LATE: &str = "no TLS handshake in time";

/// The protocol that the server of target `target`, at `endpoint`, chooses among those of `offer`, in
/// the order of preference; none if it does not take part in the choice.
///
/// # Errors
/// A sentence about the connection or handshake that failed, for the last of the server's addresses.
pub fn alpn(
    terms: &Terms,
    target: usize,
    endpoint: &Endpoint,
    offer: &[&[u8]],
    timeout: Duration,
) -> Result<Option<Vec<u8>>, String> {
    let mut config = terms.quic();
    config.alpn_protocols = offer.iter().map(|name| name.to_vec()).collect();
    let config = Arc::new(config);
    let mut failed = String::new();
    for address in 0..endpoint.addresses.len() {
        let name = terms.names[target].clone();
        let mut connection =
            ClientConnection::new(config.clone(), name).map_err(|why| why.to_string())?;
        match shake(&mut connection, endpoint, address, timeout) {
            Ok(()) => return Ok(connection.alpn_protocol().map(<[u8]>::to_vec)),
            Err(why) => failed = why,
        }
    }
    Err(failed)
}

fn shake(
    connection: &mut ClientConnection,
    endpoint: &Endpoint,
    address: usize,
    timeout: Duration,
) -> Result<(), String> {
    let text = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => LATE.into(),
        _ => error.to_string(),
    };
    let deadline = Instant::now() + timeout;
    let connected = endpoint.connect(address, 0);
    // A Unix socket takes the same calls.
    let mut socket = TcpStream::from(connected.map_err(|error| text(error.into()))?);
    let prepared = socket
        .set_nonblocking(false)
        .and_then(|()| socket.set_write_timeout(Some(timeout)));
    prepared.map_err(text)?;
    let mut header = Vec::new();
    wait_until_connected(&socket, timeout)?;
    greet(endpoint, &socket, &mut header);
    socket.write_all(&header).map_err(text)?;
    while connection.is_handshaking() {
        if connection.wants_write() {
            connection.write_tls(&mut socket).map_err(text)?;
            continue;
        }
        // Of all reads together: a server may send byte by byte.
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(LATE.into());
        }
        socket.set_read_timeout(Some(left)).map_err(text)?;
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

/// Wait for the end of a connection's making.
fn wait_until_connected(socket: &TcpStream, timeout: Duration) -> Result<(), String> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let time = Timespec::try_from(timeout).map_err(|why| why.to_string())?;
    let mut watched = [PollFd::new(socket, PollFlags::OUT)];
    match poll(&mut watched, Some(&time)) {
        Ok(0) => Err("no connection in time".into()),
        Ok(_) => match socket.take_error() {
            Ok(None) => Ok(()),
            Ok(Some(error)) | Err(error) => Err(error.to_string()),
        },
        Err(error) => Err(error.to_string()),
    }
}
