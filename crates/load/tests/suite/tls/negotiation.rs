//! What is asked for is what is negotiated, and told.

use std::io::Write;

use serde_json::json;

use super::server::{self, Identity, correct, run};
use crate::common::{Then, assert_adds_up, count, errors};

const GROUPS: [&str; 3] = ["X25519", "secp256r1", "secp384r1"];

fn assert_negotiates(identity: Identity, choices: &[(&str, &str, &str)]) {
    let mut config = identity.config();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let address = correct(config);
    for (version, cipher, group) in choices {
        let tls = json!({"version": version, "cipher": cipher, "group": group});
        let result = run(
            address,
            &tls,
            &json!({"requests": 20, "warmup_s": 0.0, "duration_s": 600}),
        );
        assert_eq!(errors(&result), 0, "{result}");
        assert_eq!(count(&result, "load.completed"), 20);
        let found = &result["tls"];
        for (field, wanted) in [
            ("version", version),
            ("cipher", cipher),
            ("group", group),
            ("alpn", &"http/1.1"),
        ] {
            assert_eq!(found[field], *wanted, "{found}");
        }
        // The last connections may not be made in time for the last requests.
        assert!((1..=4).contains(&count(found, "full")), "{found}");
        assert_eq!(count(found, "resumed") + count(found, "other"), 0);
        assert!(count(&result, "outcomes.handshake_max_us") > 0);
    }
}

#[test]
fn every_choice_of_tls_1_3() {
    let ciphers = [
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
    ];
    let with_all = ciphers.map(|cipher| ("1.3", cipher, "X25519"));
    let all_groups = GROUPS.map(|group| ("1.3", ciphers[0], group));
    let hybrid = [("1.3", ciphers[0], "X25519MLKEM768")];
    let choices = [&with_all[..], &all_groups, &hybrid].concat();
    assert_negotiates(Identity::of(&rcgen::PKCS_ECDSA_P256_SHA256), &choices);
}

#[test]
fn every_choice_of_tls_1_2() {
    let ciphers = [
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    ];
    let with_all = ciphers.map(|cipher| ("1.2", cipher, "X25519"));
    let all_groups = GROUPS.map(|group| ("1.2", ciphers[0], group));
    let choices = [with_all, all_groups].concat();
    assert_negotiates(Identity::of(&rcgen::PKCS_ECDSA_P256_SHA256), &choices);
    let ciphers = [
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    ];
    let choices = ciphers.map(|cipher| ("1.2", cipher, "secp256r1"));
    assert_negotiates(Identity::of(&rcgen::PKCS_RSA_SHA256), &choices);
}

#[test]
fn a_server_without_alpn_speaks_http_1_1() {
    let mut config = server::config();
    config.alpn_protocols.clear();
    let result = run(correct(config), &json!({}), &json!({}));
    assert_eq!(errors(&result), 0, "{result}");
    assert!(result["tls"]["alpn"].is_null(), "{result}");
}

#[test]
fn what_the_server_does_not_know_are_connect_errors() {
    let mut other = server::config();
    other.alpn_protocols = vec![b"h2".to_vec()];
    let alpn = "TLS alert no_application_protocol";
    let mut old = Identity::of(&rcgen::PKCS_ECDSA_P256_SHA256).config();
    old.alpn_protocols.clear();
    for (config, tls, why) in [
        (other, json!({}), alpn),
        // This certificate's key cannot sign for a suite with RSA.
        (
            old,
            json!({"cipher": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}),
            "TLS alert handshake_failure",
        ),
    ] {
        let result = run(correct(config), &tls, &json!({}));
        assert_eq!(count(&result, "load.offered"), 0, "{result}");
        assert!(count(&result, "total.errors.connect") >= 4, "{result}");
        assert_eq!(count(&result, "total.errors.connect"), errors(&result));
        let found = result["total"]["reasons"][0]["why"].as_str().unwrap();
        assert!(found.starts_with(why), "{found}");
        assert!(result["tls"]["version"].is_null());
    }
}

#[test]
fn sessions_are_resumed_only_if_asked_for() {
    let closing = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    let address = server::start(server::config(), move |peer, _| {
        peer.write_all(closing.as_bytes())?;
        Ok(Then::Close)
    });
    for version in ["1.2", "1.3"] {
        for resume in [false, true] {
            let tls = json!({"version": version, "resume": resume});
            let changes = json!({"requests": 40, "warmup_s": 0.0, "duration_s": 600});
            let result = run(address, &tls, &changes);
            assert_eq!(errors(&result), 0, "{result}");
            assert_adds_up(&result);
            let (full, resumed) = (count(&result, "tls.full"), count(&result, "tls.resumed"));
            assert!(full + resumed >= 40, "{result}");
            assert_eq!(count(&result, "tls.other"), 0, "{result}");
            if resume {
                // The first connections know no session yet, nor does one that found none left.
                assert!(full >= 1 && resumed >= full, "{result}");
            } else {
                assert_eq!(resumed, 0, "{result}");
            }
        }
    }
}

#[test]
fn tls_without_https_is_refused() {
    let spec = json!({"url": "http://127.0.0.1:1/", "tls": {"resume": true}});
    let spec = tare_load::spec::Spec::from_json(&spec.to_string()).unwrap();
    let interrupt = std::sync::atomic::AtomicBool::new(false);
    let mut nobody = tare_load::report::All::default();
    match tare_load::run::run(&spec, &mut nobody, &interrupt) {
        Err(tare_load::run::Error::Usage(why)) => {
            assert_eq!(why.to_string(), "tls: http:// has no TLS; write https://");
        }
        other => panic!("{other:?}"),
    }
}
