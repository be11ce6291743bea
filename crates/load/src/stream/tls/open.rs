//! A connection after its handshake: records, and the few messages that may still come.

use std::fmt;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::kernel::KernelConnection;
use rustls::{Error, ProtocolVersion};

use super::reason;
use super::record::{Content, Protection, content};
use crate::owed::Owed;
use crate::protocol::{End, Failure};
use crate::stream::layer::Receiver;

/// Messages of the handshake that may come after it (RFC 8446 section 4.6).
mod message {
    pub const HEAD: usize = 4;
    pub const NEW_SESSION_TICKET: u8 = 4;
    pub const KEY_UPDATE: u8 = 24;
    /// Longest message that is read: a ticket of 64 KiB and its other fields.
    pub const MOST: usize = 72 * 1024;
}

const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;

/// A connection whose handshake is done.
///
/// The keys are used for as many records as there are: a load generator has no secrets to keep.
pub struct Open {
    sending: Protection,
    receiving: Protection,
    /// Makes the next keys, and stores tickets.
    kernel: KernelConnection<ClientConnectionData>,
    resumes: bool,
    /// The beginning of a message whose rest has not arrived.
    partial: Vec<u8>,
    /// The changes of keys that the server asked for.
    owed: Owed,
}

/// The progress that some bytes made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumed {
    /// The number of bytes that are used up.
    pub used: usize,
    /// True once the server has closed its side.
    pub closed: bool,
}

impl Open {
    /// Take over after the handshake of `connection`; tickets are only kept if it `resumes`
    /// sessions.
    ///
    /// # Errors
    /// When rustls does not give the connection away.
    pub fn new(connection: UnbufferedClientConnection, resumes: bool) -> Result<Self, Failure> {
        let rustls = |why: Error| Failure::connect(reason::handshake(&why));
        let (secrets, kernel) = connection
            .dangerous_into_kernel_connection()
            .map_err(rustls)?;
        let version = kernel.protocol_version();
        let protection = |secrets| Protection::new(version, secrets).map_err(Failure::connect);
        Ok(Open {
            sending: protection(secrets.tx)?,
            receiving: protection(secrets.rx)?,
            kernel,
            resumes,
            partial: Vec::new(),
            owed: Owed::default(),
        })
    }

    /// Decrypt all whole records of `bytes` in place and pass their content on to `receiver`.
    /// Append replies to `sealed`.
    ///
    /// # Errors
    /// The connection's end.
    pub fn recv(
        &mut self,
        bytes: &mut [u8],
        receiver: &mut impl Receiver,
        sealed: &mut Vec<u8>,
    ) -> Result<Consumed, End> {
        let mut used = 0;
        while let Some(length) = self.receiving.length(&bytes[used..]).map_err(broken)? {
            let Some(record) = bytes[used..].get_mut(..length) else {
                break;
            };
            used += length;
            let Content { kind, bytes } = self.receiving.open(record).map_err(broken)?;
            if kind != content::HANDSHAKE && !self.partial.is_empty() {
                return Err(broken("a TLS message that is interrupted by another"));
            }
            match kind {
                content::DATA if bytes.is_empty() => {}
                content::DATA => receiver.recv(bytes)?,
                content::HANDSHAKE => {
                    self.partial.extend_from_slice(bytes);
                    self.messages(sealed).map_err(broken)?;
                }
                content::ALERT => match bytes {
                    [_, CLOSE_NOTIFY] => return Ok(Consumed { used, closed: true }),
                    [_, USER_CANCELED] => {}
                    [_, description] => return Err(broken(reason::alert(*description))),
                    _ => return Err(broken("an invalid TLS alert")),
                },
                _ => return Err(broken("a TLS record of an unknown kind")),
            }
        }
        Ok(Consumed {
            used,
            closed: false,
        })
    }

    /// Append `plain` to `sealed`, encrypted.
    ///
    /// # Errors
    /// When the cipher refuses it.
    pub fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> Result<(), Failure> {
        let done = self.sending.seal(content::DATA, plain, sealed);
        done.map_err(Failure::write)
    }

    /// Note that the socket has taken all bytes that were sealed so far.
    pub fn taken(&mut self) {
        self.owed.taken();
    }

    /// Process the messages that are whole.
    fn messages(&mut self, sealed: &mut Vec<u8>) -> Result<(), &'static str> {
        if self.kernel.protocol_version() != ProtocolVersion::TLSv1_3 {
            return Err("the server asks for another TLS handshake");
        }
        let partial = std::mem::take(&mut self.partial);
        let mut rest = partial.as_slice();
        while let Some(&[kind, high, middle, low]) = rest.first_chunk::<{ message::HEAD }>() {
            let length = u32::from_be_bytes([0, high, middle, low]) as usize;
            if length > message::MOST {
                return Err("a TLS message that is too long");
            }
            let Some(body) = rest.get(message::HEAD..message::HEAD + length) else {
                break;
            };
            rest = &rest[message::HEAD + length..];
            match (kind, body) {
                (message::NEW_SESSION_TICKET, _) if !self.resumes => {}
                (message::NEW_SESSION_TICKET, ticket) => {
                    let kept = self.kernel.handle_new_session_ticket(ticket);
                    kept.map_err(|_| "a TLS ticket that cannot be read")?;
                }
                // No message may follow it in the same record, which has the old keys.
                (message::KEY_UPDATE, [wanted @ 0..=1]) if rest.is_empty() => {
                    self.update_keys(*wanted == 1, sealed)?;
                }
                _ => return Err("a TLS message out of turn"),
            }
        }
        self.partial = rest.to_vec();
        Ok(())
    }

    /// Switch to the next keys (RFC 8446 section 4.6.3).
    fn update_keys(&mut self, both: bool, sealed: &mut Vec<u8>) -> Result<(), &'static str> {
        const NO_KEYS: &str = "there are no further TLS keys";
        let version = ProtocolVersion::TLSv1_3;
        let next = self.kernel.update_rx_secret().map_err(|_| NO_KEYS)?;
        self.receiving = Protection::new(version, next)?;
        if both {
            self.owed.add()?;
            let update = [message::KEY_UPDATE, 0, 0, 1, 0];
            self.sending.seal(content::HANDSHAKE, &update, sealed)?;
            let next = self.kernel.update_tx_secret().map_err(|_| NO_KEYS)?;
            self.sending = Protection::new(version, next)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").finish_non_exhaustive()
    }
}

fn broken(why: &'static str) -> End {
    End::Broken(Failure::read(why))
}
