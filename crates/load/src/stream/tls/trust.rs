//! The certificates that a server's must come from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::{WebPkiServerVerifier, danger::ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Serialize;

use super::verify::AnyCertificate;
use crate::spec::{SpecError, Tls};

/// The way in which the servers' certificates are verified, or the reason why they are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// By those of a file.
    Roots,
    /// By those of the system.
    System,
    /// Not: the servers are on this machine.
    Loopback,
    /// Not: the spec says so.
    Insecure,
}

impl Trust {
    /// The way that `spec` names; `loopback` is true if all servers are on this machine.
    ///
    /// # Errors
    /// A [`SpecError`] when it names two.
    pub fn of(spec: &Tls, loopback: bool) -> Result<Self, SpecError> {
        match (spec.insecure, &spec.roots) {
            (true, Some(_)) => {
                let found = "beside roots to verify by";
                Err(SpecError::new(
                    "tls.insecure",
                    found,
                    "leave out one of them",
                ))
            }
            (true, None) => Ok(Trust::Insecure),
            (false, Some(_)) => Ok(Trust::Roots),
            (false, None) if loopback => Ok(Trust::Loopback),
            (false, None) => Ok(Trust::System),
        }
    }

    /// The verifier of certificates.
    ///
    /// # Errors
    /// A [`SpecError`] when there are no roots to verify by.
    pub(super) fn verifier(
        self,
        spec: &Tls,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, SpecError> {
        let roots = match (self, &spec.roots) {
            (Trust::Roots, Some(file)) => of_file(file)?,
            (Trust::System, _) => of_system()?,
            _ => {
                let algorithms = provider.signature_verification_algorithms;
                return Ok(Arc::new(AnyCertificate(algorithms)));
            }
        };
        let roots = Arc::new(roots);
        let built = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
        Ok(built.map_err(|why| SpecError::new("tls.roots", why, "name other certificates"))?)
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trust::Roots => "verified by the roots that were named",
            Trust::System => {
                "verified by the system's roots (--roots FILE for others, -k for none)"
            }
            Trust::Loopback => {
                "not verified: the server is on this machine (--roots FILE to verify)"
            }
            Trust::Insecure => "not verified, as was asked for",
        })
    }
}

fn of_system() -> Result<RootCertStore, SpecError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let found = "this system has no certificates to verify a server's by";
        let remedy = "install them (Debian: ca-certificates), name a PEM file (--roots), or do \
                      without (-k)";
        return Err(SpecError::new("tls.roots", found, remedy));
    }
    Ok(roots)
}

fn of_file(file: &Path) -> Result<RootCertStore, SpecError> {
    let error = |why: String| {
        let found = format!("{} {why}", file.display());
        SpecError::new("tls.roots", found, "name a PEM file of certificates")
    };
    let unreadable = |why| error(format!("cannot be read ({why})"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
        let added = roots.add(certificate.map_err(unreadable)?);
        added.map_err(|why| error(format!("has an unusable certificate ({why})")))?;
    }
    if roots.is_empty() {
        return Err(error("has no certificate".into()));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_verified_unless_all_servers_are_here_or_nobody_wants_it() {
        let (default, insecure) = (Tls::default(), true);
        let roots = Some("file".into());
        let named = Tls {
            roots: roots.clone(),
            ..Tls::default()
        };
        let careless = Tls {
            insecure,
            ..Tls::default()
        };
        for (spec, loopback, trust) in [
            (&default, false, Trust::System),
            (&default, true, Trust::Loopback),
            (&named, false, Trust::Roots),
            (&named, true, Trust::Roots),
            (&careless, false, Trust::Insecure),
            (&careless, true, Trust::Insecure),
        ] {
            assert_eq!(Trust::of(spec, loopback), Ok(trust));
        }
        let error = Trust::of(
            &Tls {
                insecure,
                roots,
                ..Tls::default()
            },
            false,
        )
        .unwrap_err();
        assert!(error.to_string().starts_with("tls.insecure: "), "{error}");
    }
}
