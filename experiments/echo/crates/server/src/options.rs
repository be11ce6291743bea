//! The command line, the same for every data path.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// The destination of a client's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// They go back to it.
    Echo,
    /// They go to the backend, and the backend's go to the client.
    Relay,
}

/// The server's options.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Address to listen on.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8888")]
    pub listen: SocketAddr,
    /// Destination of the bytes.
    #[arg(long, value_enum, default_value = "echo")]
    pub shape: Shape,
    /// Backend of a relay.
    #[arg(long, value_name = "HOST:PORT", required_if_eq("shape", "relay"))]
    pub backend: Option<SocketAddr>,
    /// Threads, each with a listener of its own on the same port (SO_REUSEPORT).
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// Congestion control of every socket; it is set, and verified.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub congestion: String,
    /// Unix socket that answers each connection with one line of statistics in JSON.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Milliseconds after which a connection is closed whose peer takes nothing (TCP_USER_TIMEOUT).
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    pub stall_ms: u32,
    /// Milliseconds that connections get to end by themselves after SIGTERM.
    #[arg(long, value_name = "MS", default_value_t = 2_000)]
    pub drain_ms: u64,
}

impl Options {
    /// Return the address to connect to for each client, if this is a relay.
    pub fn upstream(&self) -> Option<SocketAddr> {
        self.backend.filter(|_| self.shape == Shape::Relay)
    }

    /// Return the time that connections have to end after SIGTERM.
    pub fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let words = [&["server"], arguments].concat();
        let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(cli.options)
    }

    #[test]
    fn an_echo_has_no_backend_even_when_one_is_named() {
        assert_eq!(parse(&[]).expect("defaults").upstream(), None);
        let named = parse(&["--backend", "127.0.0.1:9"]).expect("valid");
        assert_eq!((named.shape, named.upstream()), (Shape::Echo, None));
    }

    #[test]
    fn a_relay_wants_a_backend() {
        let error = parse(&["--shape", "relay"]).expect_err("no backend");
        assert!(error.contains("--backend"), "{error}");
        let relay = parse(&["--shape", "relay", "--backend", "[::1]:9"]).expect("valid");
        assert_eq!(
            relay.upstream(),
            Some("[::1]:9".parse().expect("an address"))
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in [
            ["--threads", "0"],
            ["--threads", "1025"],
            ["--listen", "8888"],
            ["--shape", "circle"],
            ["--stall-ms", "-1"],
        ] {
            assert!(parse(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_time_to_drain_is_in_milliseconds() {
        let options = parse(&["--drain-ms", "1500"]).expect("valid");
        assert_eq!(options.drain(), Duration::from_millis(1500));
    }
}
