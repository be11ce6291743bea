//! The certificate that the client shows.

use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::spec::{SpecError, Tls};

/// A chain of certificates, and the key of the first.
pub type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The certificate and key that `spec` names, if any.
///
/// # Errors
/// A [`SpecError`] that names the file which has none.
pub fn of(spec: &Tls) -> Result<Option<Identity>, SpecError> {
    let Some(file) = &spec.certificate else {
        return match &spec.key {
            None => Ok(None),
            Some(_) => Err(SpecError::new(
                "tls.key",
                "a key alone",
                "name its certificate, too",
            )),
        };
    };
    let unusable = |field: &str, file: &Path, what: &str, why: &dyn std::fmt::Display| {
        let found = format!("{} has no {what} ({why})", file.display());
        SpecError::new(field, found, format!("name a PEM file with a {what}"))
    };
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|why| unusable("tls.certificate", file, "certificate", &why))?;
    if certificates.is_empty() {
        return Err(unusable(
            "tls.certificate",
            file,
            "certificate",
            &"it has none",
        ));
    }
    let key = spec.key.as_ref().unwrap_or(file);
    let found = PrivateKeyDer::from_pem_file(key);
    let found = found.map_err(|why| unusable("tls.key", key, "private key", &why))?;
    Ok(Some((certificates, found)))
}
