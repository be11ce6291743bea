//! A connection during its handshake, which rustls makes.

use std::fmt;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};

use super::reason;
use crate::protocol::Failure;

const FAILED: Failure = Failure::connect("the TLS handshake failed");

/// A handshake, and the data that the server sent along with it.
pub struct Handshake {
    /// rustls' side of it.
    pub connection: UnbufferedClientConnection,
    /// Bytes that the server sent before it knew that the client is done, as TLS 1.3 allows.
    pub early: Vec<u8>,
    /// True once the server has closed its side.
    pub closed: bool,
}

/// The progress that some bytes made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of bytes that are used up.
    pub used: usize,
    /// True once the handshake is done.
    pub done: bool,
}

impl Handshake {
    /// Begin a handshake with the server of this name.
    ///
    /// # Errors
    /// When rustls refuses to begin.
    pub fn new(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Failure> {
        let connection = UnbufferedClientConnection::new(config, name);
        Ok(Handshake {
            connection: connection.map_err(|why| Failure::connect(reason::handshake(&why)))?,
            early: Vec::new(),
            closed: false,
        })
    }

    /// Process received bytes; append the reply to `sealed`.
    ///
    /// # Errors
    /// When the handshake fails.
    pub fn advance(&mut self, input: &mut [u8], sealed: &mut Vec<u8>) -> Result<Step, Failure> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { discard, state } =
                self.connection.process_tls_records(&mut input[used..]);
            let state = state.map_err(|why| Failure::connect(reason::handshake(&why)))?;
            let mut waits = false;
            let mut done = false;
            match state {
                ConnectionState::EncodeTlsData(mut message) => {
                    encode(sealed, |out| message.encode(out))?;
                }
                ConnectionState::TransmitTlsData(sent) => sent.done(),
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record =
                            record.map_err(|why| Failure::connect(reason::handshake(&why)))?;
                        self.early.extend_from_slice(record.payload);
                    }
                }
                ConnectionState::PeerClosed => self.closed = true,
                ConnectionState::WriteTraffic(_) => done = true,
                ConnectionState::BlockedHandshake => waits = true,
                _ => return Err(FAILED),
            }
            used += discard;
            if waits && self.closed {
                return Err(Failure::connect("closed during the TLS handshake"));
            }
            if waits || done {
                return Ok(Step { used, done });
            }
        }
    }
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake").finish_non_exhaustive()
    }
}

/// Append the output of `write`, which first asks for the room that it needs.
fn encode(
    sealed: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), Failure> {
    let start = sealed.len();
    match write(&mut []) {
        Ok(_) => Ok(()),
        Err(EncodeError::InsufficientSize(needs)) => {
            sealed.resize(start + needs.required_size, 0);
            let length = write(&mut sealed[start..]).map_err(|_| FAILED)?;
            sealed.truncate(start + length);
            Ok(())
        }
        Err(EncodeError::AlreadyEncoded) => Err(FAILED),
    }
}
