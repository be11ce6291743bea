//! The bytes that the program sends for its arguments.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::common::{OK, bare};

/// A server that keeps the last request's bytes.
fn recorder() -> (SocketAddr, Arc<Mutex<String>>) {
    let last = Arc::new(Mutex::new(String::new()));
    let kept = last.clone();
    let address = bare::tcp("127.0.0.1", move |mut stream| {
        let mut piece = [0; 4096];
        loop {
            let length = stream.read(&mut piece)?;
            if length == 0 {
                return Ok(());
            }
            *kept.lock().expect("no panic") = String::from_utf8_lossy(&piece[..length]).into();
            stream.write_all(OK)?;
        }
    });
    (address, last)
}

/// The bytes of the one request that is sent for `url`, whose `ADDRESS` is a server's.
fn sent(url: &str, arguments: &[&str]) -> String {
    let (address, last) = recorder();
    let output = Command::new(env!("CARGO_BIN_EXE_tare-load"))
        .arg(url.replace("ADDRESS", &address.to_string()))
        .args(["-c", "1", "-r", "1"])
        .args(arguments)
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let request = last.lock().expect("no panic").clone();
    request.replace(&address.to_string(), "ADDRESS")
}

#[test]
fn headers_of_one_name_are_all_sent_in_their_order() {
    let request = sent(
        "http://ADDRESS/",
        &["-H", "X-B: 2", "-H", "X-A: 3", "-H", "X-B: 1"],
    );
    assert_eq!(
        request,
        "GET / HTTP/1.1\r\nHost: ADDRESS\r\nX-B: 2\r\nX-A: 3\r\nX-B: 1\r\n\r\n"
    );
}

#[test]
fn credentials_are_a_header() {
    let rest = "\r\n\r\n";
    let basic = sent("http://ADDRESS/", &["-u", "Aladdin:open sesame"]);
    // The example of RFC 7617, section 2.
    assert!(basic.ends_with(&format!(
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=={rest}"
    )));
    let bearer = sent("http://ADDRESS/", &["--bearer", "abc.def"]);
    assert!(bearer.ends_with(&format!("Authorization: Bearer abc.def{rest}")));
}
