//! The configuration that the QUIC connections of all threads share.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{ClientConfig, EndpointConfig, IdleTimeout, TransportConfig, VarInt};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::ServerName;

use super::ungreased::Ungreased;
use crate::spec::SpecError;
use crate::stream::endpoint::{Address, Endpoint};

/// The flow-control window in bytes: large enough never to be the limit.
const WINDOW: u32 = 1 << 30;

/// Streams that a server may open: its control stream and those of QPACK, and some to spare.
const SERVER_STREAMS: u32 = 16;

/// Silence of a server after which a connection is given up, unless answers may take longer.
const SILENCE: Duration = Duration::from_secs(30);

/// The server of a handshake that is not sent.
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The version's name in ALPN.
pub const ALPN: &[u8] = b"h3";

/// The servers, and how to connect to them.
pub struct Setup {
    /// By target.
    pub servers: Vec<(Endpoint, Vec<SocketAddr>)>,
    /// The servers' names, by target.
    pub names: Vec<String>,
    /// For the endpoint of each connection.
    pub endpoint: Arc<EndpointConfig>,
    transport: Arc<TransportConfig>,
    tls: rustls::ClientConfig,
}

impl Setup {
    /// Connections to `endpoints` that have these `names`, with `tls`, whose answers may take as long as
    /// `timeout`.
    ///
    /// # Errors
    /// A [`SpecError`] for a Unix socket, which has no datagrams to speak of, and for a version or a
    /// cipher suite of TLS that QUIC does not have.
    pub fn new(
        endpoints: Vec<Endpoint>,
        names: Vec<String>,
        tls: rustls::ClientConfig,
        timeout: Duration,
    ) -> Result<Self, SpecError> {
        let inet = |address: &Address| match address {
            Address::Inet(address) => Ok(*address),
            Address::Unix(_) => {
                let remedy = "write https://HOST[:PORT]/PATH";
                Err(SpecError::new("url", "QUIC needs UDP", remedy))
            }
        };
        let server = |endpoint: Endpoint| {
            let addresses = endpoint.addresses.iter().map(inet);
            let addresses: Vec<SocketAddr> = addresses.collect::<Result<_, _>>()?;
            Ok((endpoint, addresses))
        };
        let setup = Setup {
            servers: endpoints
                .into_iter()
                .map(server)
                .collect::<Result<_, SpecError>>()?,
            names,
            endpoint: Arc::new(EndpointConfig::default()),
            transport: Arc::new(transport(timeout)),
            tls,
        };
        setup.attempt().map_err(|why| {
            let remedy = "take TLS 1.3 and a suite of it, or leave tls out";
            SpecError::new("tls", why, remedy)
        })?;
        Ok(setup)
    }

    /// A thread's own configuration: threads share no sessions, as they share nothing else.
    pub fn client(&self) -> ClientConfig {
        let quic = self.quic().expect("it was tried before");
        let mut client = ClientConfig::new(Arc::new(Ungreased(Arc::new(quic))));
        client.transport_config(self.transport.clone());
        client
    }

    /// Begin a handshake, which shows whether QUIC can have the TLS that is asked for.
    fn attempt(&self) -> Result<(), String> {
        self.quic()?;
        let (tls, name) = (Arc::new(self.tls.clone()), ServerName::from(LOCALHOST));
        let begun =
            rustls::quic::ClientConnection::new(tls, rustls::quic::Version::V1, name, vec![]);
        begun.map(|_| ()).map_err(|why| why.to_string())
    }

    fn quic(&self) -> Result<QuicClientConfig, String> {
        // The first packets are always of this suite (RFC 9001, section 5.2).
        let initial = TLS13_AES_128_GCM_SHA256
            .tls13()
            .and_then(|suite| suite.quic_suite())
            .ok_or("the library has no QUIC")?;
        QuicClientConfig::with_initial(Arc::new(self.tls.clone()), initial)
            .map_err(|why| why.to_string())
    }
}

/// The transport of connections whose answers may take as long as `timeout`.
fn transport(timeout: Duration) -> TransportConfig {
    let idle = IdleTimeout::try_from(SILENCE.max(2 * timeout)).expect("far below 2^62 ms");
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(SERVER_STREAMS))
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(idle));
    transport
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_s_time_ends_before_its_connection_s() {
        for (timeout_s, idle) in [(5, "Some(30000)"), (60, "Some(120000)")] {
            let text = format!("{:?}", transport(Duration::from_secs(timeout_s)));
            assert!(
                text.contains(&format!("max_idle_timeout: {idle}")),
                "{text}"
            );
        }
    }
}
