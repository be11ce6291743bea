//! A server that is none of rustls.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rcgen::KeyPair;
use serde_json::json;

use super::server::{params, run};
use crate::common::{count, errors};

/// Ends its process with itself.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn openssl_s_server_answers() {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("openssl is not installed: nothing was tested against it");
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (key_file, file) = (folder.join("openssl.key"), folder.join("openssl.pem"));
    let key = KeyPair::generate().expect("a key");
    let certificate = params().self_signed(&key).expect("a certificate");
    std::fs::write(&key_file, key.serialize_pem()).expect("a file");
    std::fs::write(&file, certificate.pem()).expect("a file");
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("an address");
    drop(free);
    let child = Command::new("openssl")
        .args([
            "s_server",
            "-www",
            "-quiet",
            "-accept",
            &address.to_string(),
        ])
        .arg("-cert")
        .arg(&file)
        .arg("-key")
        .arg(&key_file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _running = Running(child.expect("openssl starts"));
    while TcpStream::connect(address).is_err() {
        thread::sleep(Duration::from_millis(20));
    }
    for (version, resume) in [("1.2", false), ("1.3", false), ("1.2", true), ("1.3", true)] {
        let tls = json!({"version": version, "resume": resume, "roots": file});
        // It serves one connection after the other.
        let changes =
            json!({"requests": 10, "warmup_s": 0.0, "duration_s": 60.0, "connections": 1});
        let result = run(address, &tls, &changes);
        assert_eq!(errors(&result), 0, "{result}");
        assert_eq!(count(&result, "load.completed"), 10, "{result}");
        assert_eq!(count(&result, "tls.resumed") > 0, resume, "{result}");
    }
}
