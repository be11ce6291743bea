//! The description of a run over TLS names what was negotiated.

use std::process::Command;

use super::server::{config, correct};

#[test]
fn the_version_and_the_cipher_are_told_and_that_nothing_is_verified() {
    let url = format!("https://localhost:{}/", correct(config()).port());
    let described = || {
        let mut program = Command::new(env!("CARGO_BIN_EXE_tare-load"));
        let output = program.args([&url, "-c", "2", "-d", "200ms"]).output();
        String::from_utf8(output.expect("it starts").stdout).expect("text")
    };
    // On a busy machine the first event may come before the handshake is done.
    let told = (0..10)
        .map(|_| described())
        .find(|told| !told.contains("no TLS handshake so far"))
        .expect("a handshake within a second, in one of ten runs");
    assert!(
        told.contains("\nprotocol      HTTP/1.1, TLS 1.3 with TLS_"),
        "{told}"
    );
    assert!(
        told.contains("\ncertificates  not verified: the server is on this machine"),
        "{told}"
    );
}
