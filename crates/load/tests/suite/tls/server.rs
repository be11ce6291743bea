//! A server that speaks TLS, and its certificates.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rcgen::{CertificateParams, Issuer, KeyPair, SignatureAlgorithm};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::common::{self, Then};

/// A connection as the server sees it.
pub type Peer = StreamOwned<ServerConnection, TcpStream>;

/// A certificate and its key.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Identity {
    /// One of localhost that signs itself.
    pub fn of(algorithm: &'static SignatureAlgorithm) -> Self {
        let key = KeyPair::generate_for(algorithm).expect("a key");
        let certificate = params().self_signed(&key).expect("a certificate");
        Identity::new(certificate.der().clone(), &key)
    }

    /// What `params` describe, signed by `issuer`.
    pub fn signed(params: &CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Self {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, issuer).expect("a certificate");
        Identity::new(certificate.der().clone(), &key)
    }

    fn new(certificate: CertificateDer<'static>, key: &KeyPair) -> Self {
        Identity {
            chain: vec![certificate],
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        }
    }

    /// What a server with it, of both versions, is configured to.
    pub fn config(self) -> ServerConfig {
        ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(rustls::ALL_VERSIONS)
            .expect("versions that the provider knows")
            .with_no_client_auth()
            .with_single_cert(self.chain, self.key)
            .expect("a key that fits")
    }
}

/// A certificate for localhost.
pub fn params() -> CertificateParams {
    CertificateParams::new(["localhost".to_string()]).expect("a name")
}

/// A server for localhost that offers http/1.1.
pub fn config() -> ServerConfig {
    let mut config = Identity::of(&rcgen::PKCS_ECDSA_P256_SHA256).config();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Calls `handler` for each request with its number on its connection, from 0.
pub fn start(
    config: ServerConfig,
    handler: impl Fn(&mut Peer, u64) -> io::Result<Then> + Send + Sync + 'static,
) -> SocketAddr {
    let config = Arc::new(config);
    let handler = Arc::new(handler);
    listen(move |socket| {
        socket.set_nodelay(true)?;
        let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        serve(StreamOwned::new(connection, socket), &*handler)
    })
}

/// Calls `handler` for each connection, in a thread of its own.
pub fn listen(handler: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let handler = Arc::new(handler);
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let handler = handler.clone();
            // A client that has gone is no error of the server.
            thread::spawn(move || handler(socket).ok());
        }
    });
    address
}

fn serve(mut peer: Peer, handler: &dyn Fn(&mut Peer, u64) -> io::Result<Then>) -> io::Result<()> {
    let mut piece = [0; 4096];
    for number in 0.. {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let length = peer.read(&mut piece)?;
            if length == 0 {
                return Ok(());
            }
            request.extend_from_slice(&piece[..length]);
        }
        let then = handler(&mut peer, number)?;
        peer.flush()?;
        if then == Then::Close {
            return Ok(());
        }
    }
    Ok(())
}

/// A server that always answers correctly.
pub fn correct(config: ServerConfig) -> SocketAddr {
    start(config, |peer, _| {
        peer.write_all(common::OK)?;
        Ok(Then::Keep)
    })
}

/// The result of a run with the server at `address` under the name of localhost.
pub fn run(address: SocketAddr, tls: &Value, changes: &Value) -> Value {
    let mut all = changes.clone();
    all["url"] = json!(format!("https://localhost:{}/", address.port()));
    all["tls"] = tls.clone();
    common::run(address, &all)
}
