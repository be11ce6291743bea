//! Versions, cipher suites and groups by the names that a spec writes.

use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, ALL_KX_GROUPS};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::{NamedGroup, SupportedCipherSuite, SupportedProtocolVersion, version};

use crate::spec::{SpecError, Tls};

/// TLS 1.2 as the spec writes it.
pub const TLS12: &str = "1.2";
/// TLS 1.3 as the spec writes it.
pub const TLS13: &str = "1.3";

type Version = &'static SupportedProtocolVersion;
type Group = &'static dyn SupportedKxGroup;

/// The IANA name of a cipher suite.
pub fn cipher(suite: SupportedCipherSuite) -> String {
    // rustls marks those of TLS 1.3, which IANA does not.
    format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1)
}

/// The name of a key exchange group.
pub fn group(group: NamedGroup) -> String {
    format!("{group:?}")
}

/// The versions, cipher suites and groups to offer.
#[derive(Debug)]
pub struct Choice {
    /// The versions.
    pub versions: Vec<Version>,
    /// The cipher suites and groups.
    pub provider: CryptoProvider,
}

impl Choice {
    /// The choice that `spec` names; everything where it names nothing.
    ///
    /// # Errors
    /// A [`SpecError`] for a name that is not known, and for names that do not go together.
    pub fn of(spec: &Tls) -> Result<Self, SpecError> {
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        let mut versions = match &spec.version {
            Some(name) => vec![version(name)?],
            None => vec![&version::TLS13, &version::TLS12],
        };
        if let Some(name) = &spec.cipher {
            let suite = *find(ALL_CIPHER_SUITES, "tls.cipher", name, |suite| {
                cipher(*suite)
            })?;
            versions.retain(|version| **version == *suite.version());
            refuse_if(versions.is_empty(), "tls.cipher", name)?;
            provider.cipher_suites = vec![suite];
        }
        if let Some(name) = &spec.group {
            let one = *find(ALL_KX_GROUPS, "tls.group", name, |one: &Group| {
                group(one.name())
            })?;
            versions.retain(|version| one.usable_for_version(version.version));
            refuse_if(versions.is_empty(), "tls.group", name)?;
            provider.kx_groups = vec![one];
        }
        Ok(Choice { versions, provider })
    }
}

fn version(name: &str) -> Result<Version, SpecError> {
    match name {
        TLS12 => Ok(&version::TLS12),
        TLS13 => Ok(&version::TLS13),
        _ => {
            let found = format!("{name:?} is unknown");
            let remedy = format!("write {TLS12:?} or {TLS13:?}");
            Err(SpecError::new("tls.version", found, remedy))
        }
    }
}

fn find<'a, T>(
    all: &'a [T],
    field: &str,
    name: &str,
    name_of: impl Fn(&T) -> String,
) -> Result<&'a T, SpecError> {
    let found = all
        .iter()
        .find(|one| name_of(one).eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<String> = all.iter().map(name_of).collect();
        let remedy = format!("write one of {}", names.join(", "));
        SpecError::new(field, format!("{name:?} is unknown"), remedy)
    })
}

fn refuse_if(nothing_left: bool, field: &str, name: &str) -> Result<(), SpecError> {
    if nothing_left {
        let found = format!("{name:?} does not fit the TLS version of the other choices");
        let remedy = "leave out the version, or choose one for it";
        return Err(SpecError::new(field, found, remedy));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(version: &str, cipher: &str, group: &str) -> Result<Choice, SpecError> {
        let some = |name: &str| Some(name.to_string()).filter(|name| !name.is_empty());
        Choice::of(&Tls {
            version: some(version),
            cipher: some(cipher),
            group: some(group),
            ..Tls::default()
        })
    }

    #[test]
    fn names_choose_what_is_offered() {
        let all = choice("", "", "").unwrap();
        assert_eq!(all.versions, [&version::TLS13, &version::TLS12]);
        let one = choice("", "TLS_AES_128_GCM_SHA256", "x25519").unwrap();
        assert_eq!(one.versions, [&version::TLS13]);
        assert_eq!(one.provider.cipher_suites.len(), 1);
        assert_eq!(one.provider.kx_groups[0].name(), NamedGroup::X25519);
        let cipher = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
        let old = choice("1.2", cipher, "secp256r1").unwrap();
        assert_eq!(old.versions, [&version::TLS12]);
        assert!(choice("1.3", "", "X25519MLKEM768").is_ok());
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_field() {
        for (version, cipher, group, wanted) in [
            ("1.1", "", "", "tls.version: \"1.1\" is unknown; write "),
            ("", "TLS_NULL", "", "tls.cipher: \"TLS_NULL\" is unknown"),
            ("", "", "P-999", "tls.group: \"P-999\" is unknown"),
            ("1.2", "TLS_AES_128_GCM_SHA256", "", "tls.cipher: "),
            ("1.2", "", "X25519MLKEM768", "tls.group: "),
        ] {
            let error = choice(version, cipher, group).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
        let error = choice("", "x", "").unwrap_err().to_string();
        assert!(error.contains("TLS_CHACHA20_POLY1305_SHA256"), "{error}");
    }
}
