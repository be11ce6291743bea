//! The arguments about TLS.

use std::path::PathBuf;

use clap::Args;

use crate::spec::Tls;

/// The arguments for https://.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsOptions {
    /// The only TLS version to offer: 1.2 or 1.3
    #[arg(long, value_name = "VERSION")]
    pub tls_version: Option<String>,

    /// The only TLS cipher suite to offer, as TLS_AES_128_GCM_SHA256
    #[arg(long, value_name = "NAME")]
    pub cipher: Option<String>,

    /// The only TLS key exchange group to offer, as X25519
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,

    /// Resume TLS sessions on later connections; without it, each makes a full handshake
    #[arg(long)]
    pub resume: bool,

    /// Server name to request, if not the URL's host
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,

    /// Verify the server's certificate by those of a PEM file; without it, by the system's, unless
    /// the server is on this machine
    #[arg(long, value_name = "FILE")]
    pub roots: Option<PathBuf>,

    /// Certificate to show to the server, a PEM file
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,

    /// Key of --cert, a PEM file [default: the same]
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,

    /// Accept any certificate of the server
    #[arg(short = 'k', long, conflicts_with = "roots")]
    pub insecure: bool,
}

impl TlsOptions {
    /// The demands on a TLS connection.
    pub fn spec(self) -> Tls {
        Tls {
            version: self.tls_version,
            cipher: self.cipher,
            group: self.group,
            resume: self.resume,
            server_name: self.server_name,
            roots: self.roots,
            certificate: self.cert,
            key: self.key,
            insecure: self.insecure,
        }
    }
}
