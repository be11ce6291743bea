//! The parameters that the handshakes of a run negotiated.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rustls::client::UnbufferedClientConnection;
use rustls::{HandshakeKind, ProtocolVersion};
use serde::Serialize;

use super::names;

/// The parameters that one handshake negotiated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Negotiated {
    /// The version, as the spec writes it.
    pub version: Option<&'static str>,
    /// The cipher suite, by its IANA name.
    pub cipher: Option<String>,
    /// The key exchange group, by its IANA name; none where TLS 1.2 resumed a session.
    pub group: Option<String>,
    /// The ALPN protocol.
    pub alpn: Option<String>,
}

impl Negotiated {
    /// The parameters that `connection` negotiated with its server.
    pub fn of(connection: &UnbufferedClientConnection) -> Self {
        let group = connection.negotiated_key_exchange_group();
        let alpn = connection.alpn_protocol();
        Negotiated {
            version: connection.protocol_version().map(|version| match version {
                ProtocolVersion::TLSv1_3 => names::TLS13,
                _ => names::TLS12,
            }),
            cipher: connection.negotiated_cipher_suite().map(names::cipher),
            group: group.map(|group| names::group(group.name())),
            alpn: alpn.map(|name| String::from_utf8_lossy(name).into_owned()),
        }
    }
}

/// The handshakes of all threads.
#[derive(Debug, Default)]
pub struct Handshakes {
    first: Mutex<Option<Negotiated>>,
    full: AtomicU64,
    resumed: AtomicU64,
    other: AtomicU64,
}

/// The result's `tls` object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TlsReport {
    /// The parameters of the first handshake.
    #[serde(flatten)]
    pub first: Negotiated,
    /// Handshakes that made a new session.
    pub full: u64,
    /// Handshakes that resumed one.
    pub resumed: u64,
    /// Handshakes of both kinds that negotiated something else than the first.
    pub other: u64,
}

impl fmt::Display for TlsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Negotiated {
            version,
            cipher,
            group,
            alpn,
        } = &self.first;
        let parts = [cipher, group, alpn].into_iter().flatten();
        write!(f, "{}", version.unwrap_or("no handshake"))?;
        parts
            .into_iter()
            .try_for_each(|part| write!(f, ", {part}"))?;
        write!(
            f,
            "; handshakes: {} full, {} resumed",
            self.full, self.resumed
        )?;
        if self.other > 0 {
            write!(f, ", {} of them negotiated something else", self.other)?;
        }
        Ok(())
    }
}

impl Handshakes {
    /// Count a handshake.
    pub fn add(&self, kind: Option<HandshakeKind>, mut negotiated: Negotiated) {
        let count = match kind {
            Some(HandshakeKind::Resumed) => &self.resumed,
            _ => &self.full,
        };
        count.fetch_add(1, Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let first = first.get_or_insert_with(|| negotiated.clone());
        // A session that TLS 1.2 resumes has the group of its first handshake.
        negotiated.group = negotiated.group.or_else(|| first.group.clone());
        if negotiated != *first {
            self.other.fetch_add(1, Relaxed);
        }
    }

    /// The version and the cipher of the first handshake, if there was one.
    pub fn cipher(&self) -> Option<String> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let Negotiated {
            version, cipher, ..
        } = first.as_ref()?;
        let cipher = cipher.as_deref().unwrap_or("an unknown cipher");
        let version = version.unwrap_or("of an unknown version");
        Some(format!("TLS {version} with {cipher}"))
    }

    /// The report of all handshakes.
    pub fn report(&self) -> TlsReport {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        TlsReport {
            first: first.clone().unwrap_or_default(),
            full: self.full.load(Relaxed),
            resumed: self.resumed.load(Relaxed),
            other: self.other.load(Relaxed),
        }
    }
}
