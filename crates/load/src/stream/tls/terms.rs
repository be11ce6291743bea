//! The configuration of a run's TLS connections.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;

use super::identity;
use super::names::Choice;
use super::negotiated::Handshakes;
use super::trust::Trust;
use crate::spec::{self, SpecError};

/// Sessions that a thread keeps for each server.
const SESSIONS: usize = 4096;

/// The configuration of all threads' connections, and their handshakes.
#[derive(Debug)]
pub struct Terms {
    config: ClientConfig,
    resume: bool,
    /// By target.
    pub(super) names: Vec<ServerName<'static>>,
    /// Their handshakes.
    pub handshakes: Handshakes,
}

impl Terms {
    /// The configuration by `spec` for connections to `hosts` that offer `alpn` and verify
    /// certificates by `trust`.
    ///
    /// # Errors
    /// A [`SpecError`] that names the field which cannot be used.
    pub fn of<'a>(
        spec: &spec::Tls,
        trust: Trust,
        hosts: impl Iterator<Item = &'a str>,
        alpn: &[u8],
    ) -> Result<Self, SpecError> {
        let Choice { versions, provider } = Choice::of(spec)?;
        // The first random bytes of a process may take a tenth of a second to gather, which belongs
        // to no connection.
        let warmed = provider.secure_random.fill(&mut [0]);
        warmed.map_err(|_| refuse("tls", "there is no source of random bytes"))?;
        let provider = Arc::new(provider);
        let verifier = trust.verifier(spec, &provider)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|why| refuse("tls.version", why))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match identity::of(spec)? {
            None => config.with_no_client_auth(),
            Some((chain, key)) => config.with_client_auth_cert(chain, key).map_err(|why| {
                let remedy = "name the key of the certificate";
                SpecError::new("tls.key", why, remedy)
            })?,
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        config.resumption = Resumption::disabled();
        config.enable_secret_extraction = true;
        let name = |host: &str| {
            let name = spec.server_name.as_deref().unwrap_or(host);
            ServerName::try_from(name.to_string()).map_err(|_| {
                let found = format!("{name:?} is neither a host name nor an address");
                SpecError::new("tls.server_name", found, "write one")
            })
        };
        Ok(Terms {
            config,
            resume: spec.resume,
            names: hosts.map(name).collect::<Result<_, _>>()?,
            handshakes: Handshakes::default(),
        })
    }

    /// A thread's own configuration: threads share no sessions, as they share nothing else.
    pub(super) fn config(&self) -> Arc<ClientConfig> {
        let mut config = self.config.clone();
        if self.resume {
            config.resumption = Resumption::in_memory_sessions(SESSIONS);
        }
        Arc::new(config)
    }

    /// The same for QUIC, which has records of its own.
    pub fn quic(&self) -> ClientConfig {
        let mut config = (*self.config()).clone();
        config.enable_secret_extraction = false;
        config
    }

    /// Return true if sessions are resumed.
    pub(super) fn resumes(&self) -> bool {
        self.resume
    }

    /// The only protocol that is offered.
    pub(super) fn alpn(&self) -> &[u8] {
        &self.config.alpn_protocols[0]
    }
}

fn refuse(field: &str, why: impl std::fmt::Display) -> SpecError {
    SpecError::new(field, why, "see docs/FORMAT.md")
}
