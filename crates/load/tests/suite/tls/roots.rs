//! Certificates are verified by the roots that a spec names.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::json;

use super::server::{Identity, correct, params, run};
use crate::common::{count, errors};

/// An authority, and the file of its certificate.
fn authority(name: &str) -> (Issuer<'static, KeyPair>, PathBuf) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pem"));
    std::fs::write(&file, certificate.pem()).expect("a file");
    (Issuer::new(params, key), file)
}

#[test]
fn a_certificate_must_come_from_the_roots_if_there_are_any() {
    let (known, file) = authority("known");
    let (_, unknown) = authority("unknown");
    let address = correct(Identity::signed(&params(), &known).config());
    for (tls, how) in [
        (json!({}), "loopback"),
        (json!({"roots": file}), "roots"),
        (json!({"insecure": true}), "insecure"),
    ] {
        let result = run(address, &tls, &json!({}));
        assert_eq!(errors(&result), 0, "{result}");
        assert_eq!(result["certificates"], how);
        assert!(count(&result, "load.completed") > 0);
    }
    let mut expired = params();
    expired.not_before = date_time_ymd(2020, 1, 1);
    expired.not_after = date_time_ymd(2020, 2, 1);
    let mut future = params();
    future.not_before = date_time_ymd(3020, 1, 1);
    future.not_after = date_time_ymd(3020, 2, 1);
    let other = CertificateParams::new(["example.org".to_string()]).expect("a name");
    let by_known = |params| correct(Identity::signed(params, &known).config());
    let other = by_known(&other);
    for (address, roots, why) in [
        (address, &unknown, "was issued by none of the roots"),
        (by_known(&expired), &file, "has expired"),
        (by_known(&future), &file, "is not valid yet"),
        (other, &file, "is for another name"),
        (
            correct(Identity::of(&rcgen::PKCS_ED25519).config()),
            &file,
            "was issued by none of the roots",
        ),
    ] {
        let result = run(address, &json!({"roots": roots}), &json!({}));
        assert_eq!(count(&result, "load.offered"), 0, "{result}");
        assert!(count(&result, "total.errors.connect") >= 4, "{result}");
        let found = result["total"]["reasons"][0]["why"].as_str().unwrap();
        assert_eq!(found, format!("the server's certificate {why}"));
    }
    let named = json!({"roots": file, "server_name": "example.org"});
    let result = run(other, &named, &json!({}));
    assert_eq!(errors(&result), 0, "{result}");
}

#[test]
fn unusable_roots_and_names_are_refused() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let empty = folder.join("empty.pem");
    std::fs::write(&empty, "").expect("a file");
    for (tls, field) in [
        (json!({"roots": folder.join("missing.pem")}), "tls.roots"),
        (json!({"roots": empty}), "tls.roots"),
        (json!({"server_name": "no name"}), "tls.server_name"),
        (json!({"cipher": "none"}), "tls.cipher"),
    ] {
        let spec = json!({"url": "https://127.0.0.1:1/", "tls": tls});
        let spec = tare_load::spec::Spec::from_json(&spec.to_string()).unwrap();
        let interrupt = std::sync::atomic::AtomicBool::new(false);
        let mut nobody = tare_load::report::All::default();
        match tare_load::run::run(&spec, &mut nobody, &interrupt) {
            Err(tare_load::run::Error::Usage(why)) => {
                assert!(why.to_string().starts_with(field), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
}
