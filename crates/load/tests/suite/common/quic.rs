//! A QUIC server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, ConnectionError, Endpoint, ServerConfig, TransportConfig};
use rustls::pki_types::PrivateKeyDer;

/// Converses with each connection to a free port that speaks `alpn`.
pub fn serve<F>(
    alpn: &[u8],
    converse: impl Fn(Connection) -> F + Clone + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = Result<(), ConnectionError>> + Send + 'static,
{
    serve_over(TransportConfig::default(), alpn, converse)
}

/// The same over connections of this `transport`.
pub fn serve_over<F>(
    transport: TransportConfig,
    alpn: &[u8],
    converse: impl Fn(Connection) -> F + Clone + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = Result<(), ConnectionError>> + Send + 'static,
{
    let made = rcgen::generate_simple_self_signed(["localhost".into()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a key");
    tls.alpn_protocols = vec![alpn.to_vec()];
    let quic = QuicServerConfig::try_from(tls).expect("TLS 1.3");
    let mut config = ServerConfig::with_crypto(Arc::new(quic));
    config.transport_config(Arc::new(transport));
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async move {
            let any = "127.0.0.1:0".parse().expect("an address");
            let endpoint = Endpoint::server(config, any).expect("a free port");
            send.send(endpoint.local_addr().expect("an address"))
                .expect("a test");
            while let Some(incoming) = endpoint.accept().await {
                let converse = converse.clone();
                // A client that has gone is no error of the server.
                tokio::spawn(async move { converse(incoming.await?).await });
            }
        });
    });
    receive.recv().expect("a server")
}
