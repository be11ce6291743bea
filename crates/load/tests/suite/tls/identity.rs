//! The certificate that the client shows, and the header of a proxy in front of TLS.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;
use tare_load::error::Error;

use super::server::{self, Identity, correct, listen, params, run};
use crate::common::{self, count, errors};

fn file(name: &str, text: &str) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, text).expect("a file");
    file
}

/// A server that wants a certificate of `root`.
fn strict(root: rustls::pki_types::CertificateDer<'static>) -> ServerConfig {
    let provider = Arc::new(default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(root).expect("a root");
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let own = Identity::of(&rcgen::PKCS_ECDSA_P256_SHA256);
    ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .expect("versions that the provider knows")
        .with_client_cert_verifier(verifier.expect("a verifier"))
        .with_single_cert(own.chain, own.key)
        .expect("a key that fits")
}

#[test]
fn a_server_that_wants_a_certificate_gets_it() {
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().expect("a key");
    let root = ca
        .self_signed(&ca_key)
        .expect("a certificate")
        .der()
        .clone();
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate().expect("a key");
    let signed = params().signed_by(&key, &issuer).expect("a certificate");
    let certificate = file("client.pem", &signed.pem());
    let key_file = file("client.key", &key.serialize_pem());
    let both = file("client-both.pem", &(signed.pem() + &key.serialize_pem()));
    let address = correct(strict(root));
    for version in ["1.2", "1.3"] {
        for tls in [
            json!({"version": version, "certificate": certificate, "key": key_file}),
            json!({"version": version, "certificate": both, "resume": true}),
        ] {
            let result = run(address, &tls, &json!({"requests_per_connection": 5}));
            assert_eq!(errors(&result), 0, "{result}");
            assert!(count(&result, "load.completed") > 0);
        }
        let result = run(address, &json!({"version": version}), &json!({}));
        assert_eq!(count(&result, "load.completed"), 0, "{result}");
        let why = result["total"]["reasons"].to_string();
        let (old, new) = (
            "TLS alert certificate_required",
            "TLS alert handshake_failure",
        );
        assert!(why.contains(old) || why.contains(new), "{why}");
    }
}

#[test]
fn what_is_no_certificate_is_named() {
    let key = KeyPair::generate().expect("a key");
    let own = params().self_signed(&key).expect("a certificate");
    let other = KeyPair::generate().expect("a key");
    let certificate = file("own.pem", &own.pem());
    let wrong = file("wrong.key", &other.serialize_pem());
    let empty = file("empty.pem", "no certificate\n");
    for (field, tls) in [
        ("tls.certificate", json!({"certificate": "/nonexistent"})),
        ("tls.certificate", json!({"certificate": empty})),
        ("tls.key", json!({"certificate": certificate})),
        ("tls.key", json!({"certificate": certificate, "key": empty})),
        ("tls.key", json!({"certificate": certificate, "key": wrong})),
        ("tls.key", json!({"key": wrong})),
    ] {
        let spec = json!({"url": "https://127.0.0.1:1/", "tls": tls});
        let spec = tare_load::spec::Spec::from_json(&spec.to_string()).expect("a spec");
        let interrupt = std::sync::atomic::AtomicBool::new(false);
        let refused = tare_load::run::run(&spec, &mut common::Silent, &interrupt).map(drop);
        let Err(Error::Usage(error)) = refused else {
            panic!("{field} is not refused: {refused:?}");
        };
        assert!(
            error.to_string().starts_with(&format!("{field}: ")),
            "{error}"
        );
    }
}

#[test]
fn the_header_of_a_proxy_comes_before_the_handshake() {
    let config = Arc::new(server::config());
    let address = listen(move |mut socket| {
        let mut header = [0; 28];
        socket.read_exact(&mut header)?;
        assert!(header.starts_with(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"));
        let connection = ServerConnection::new(config.clone()).expect("a configuration");
        let mut peer = StreamOwned::new(connection, socket);
        let mut piece = [0; 4096];
        while peer.read(&mut piece)? > 0 {
            peer.write_all(common::OK)?;
            peer.flush()?;
        }
        Ok(())
    });
    for protocol in ["h1", "auto"] {
        let changes = json!({"proxy_protocol": 2, "protocol": protocol});
        let result = run(address, &json!({}), &changes);
        assert_eq!(errors(&result), 0, "{result}");
        assert!(count(&result, "load.completed") > 0);
    }
}
