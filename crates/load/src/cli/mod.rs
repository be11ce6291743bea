//! The command line.

mod output;
pub mod values;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Parser;

pub use self::output::Output;
use self::values::{header, think};
use crate::spec::{
    Body, Expect, IpVersion, KeySpec, Order, Pace, Spec, SpecError, Spread, TargetSpec, Think, Tls,
    Wait, default,
};
use crate::time::seconds;

const EXAMPLES: &str = "\
Examples:
  tare-load http://127.0.0.1:8080/                        as many requests as 64 connections carry
  tare-load http://[::1]:8080/a -c 20 -d 30s --cpus 1     20 connections, half a minute, on CPU 1
  tare-load http://127.0.0.1:8080/ --rate 5000            5,000 a second by the clock, however slow the answers
  tare-load http://127.0.0.1:8080/ -X POST --body '{}' -H 'Content-Type: application/json' --expect-status 201
  tare-load https://127.0.0.1/ --cipher TLS_AES_128_GCM_SHA256 --group X25519       only these are offered
  tare-load https://127.0.0.1/ -p h2 -m 10 -c 20                                     HTTP/2, ten streams on each connection
  tare-load https://127.0.0.1/ -p h3 --rate 1000                                     HTTP/3
  tare-load http://unix:/run/app.sock:/path               HTTP over a Unix socket
  tare-load tcp://127.0.0.1:9000 -c 20 -r 200000 -s 128   an echo server: 200,000 messages of 128 bytes, compared
  tare-load tcp://127.0.0.1:9000 --serial -q 30000 -d 60  one message at a time over all connections in turn
  tare-load http://h/10k/{key} http://h/1m/{key} --weights 30,1 --keys 12000 --zipf 0.9 --think exp:1s -c 3100
  tare-load http://127.0.0.1:8080/ --steps 1000:20000:1000 -d 5s --fail-on 'p99<5ms'   the highest rate that holds it
  tare-load --spec spec.json                              an instrument of the laboratory: JSON lines

Latency runs from the moment a request was meant to be sent, so that a server which stalls cannot
hide the wait of those behind; service time and time to first byte (ttfb) run from the actual send.

Errors by their kinds:
  connect          no usable connection: refused, reset, or a handshake that failed
  connect_timeout  no usable connection in time (--connect-timeout)
  read             an answer cut short, malformed, reset, or not asked for
  write            a request that could not be sent
  status, body     a whole answer that is not the expected one
  timeout          an answer not whole in time (--timeout), from the actual send
  ttfb_timeout     an answer not begun in time (--ttfb-timeout), from the actual send

Exit codes: 0 all is well; 1 a condition of --fail-on does not hold, an answer was not correct or did not
come (unless a condition on errors allows it), or the generator did not keep its schedule; 2 the arguments cannot be used; 130 a signal stopped it early: the
first ends the load, the next one the wait for the last answers; 141 nobody reads its output any more.
With --spec: 0 there is a result, 2 the spec cannot be used, 1 anything else.";

/// The heading of the options for https://.
const TLS: &str = "TLS";

/// A load generator: requests by the clock, true latencies, little CPU.
#[derive(Debug, Parser)]
#[command(name = "tare-load", version, after_help = EXAMPLES, args_override_self = true)]
pub struct Cli {
    /// URLs to request: http://, https://, http://unix:/SOCKET:/PATH, tcp:// or unix:/SOCKET
    #[arg(required_unless_present = "spec")]
    urls: Vec<String>,

    /// Run as an instrument of the laboratory, by the spec in FILE (docs/FORMAT.md)
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub spec: Option<PathBuf>,

    /// Protocol; default: h1 for http:// and https://, echo for tcp:// and unix:. On http://, h2 is
    /// sent without asking whether the server supports it
    #[arg(short, long, value_name = "NAME", value_parser = ["h1", "h2", "h3", "echo", "proto"])]
    protocol: Option<String>,

    /// Connections over all threads
    #[arg(short, long, value_name = "N", default_value_t = default::connections())]
    connections: usize,

    /// Requests in flight on each connection: pipelined, or in streams of h2 and h3
    #[arg(short = 'm', long, value_name = "N", default_value_t = default::depth())]
    depth: usize,

    /// Requests on each connection, which is then closed and another opened; without it, all
    #[arg(long, value_name = "N")]
    requests_per_connection: Option<u64>,

    /// Worker threads
    #[arg(short, long, value_name = "N", default_value_t = default::threads())]
    threads: usize,

    /// Measured time: 10, 10s, 500ms or 2m [default: 10s, or until all rounds are made]
    #[arg(short, long, value_name = "TIME", value_parser = seconds)]
    duration: Option<f64>,

    /// Requests to make, without a warm-up, instead of measuring for a time; 0 for no such number
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    rounds: u64,

    /// At most so many requests a second, as answers allow; 0 for no limit
    #[arg(short, long, value_name = "R", default_value_t = 0.0)]
    qps: f64,

    /// Requests per second by the clock (open loop); without it, each answer brings the next request
    #[arg(long, value_name = "R", conflicts_with_all = ["qps", "serial", "think"])]
    rate: Option<f64>,

    /// Arrivals of --rate and --steps
    #[arg(long, value_enum, default_value_t = Spread::Poisson)]
    pub arrivals: Spread,

    /// Waiting for the next send of --rate and --steps: `spin` polls for the last 100 µs; `sleep`
    /// costs less CPU, and sends are as late as the kernel's wake-ups
    #[arg(long, value_enum, default_value_t = Wait::Spin)]
    pub wait: Wait,

    /// One request at a time over all connections, which take turns
    #[arg(long)]
    serial: bool,

    /// Pause of each connection between an answer and its next request: 1s, uniform:0.5s..2s or
    /// exp:1s
    #[arg(long, value_name = "DELAY", value_parser = think)]
    think: Option<Think>,

    /// Load before the measurement [default: 1s, or none with --rounds]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    warmup: Option<f64>,

    /// Connections opened per second; without it, all at once
    #[arg(long, value_name = "N")]
    ramp: Option<f64>,

    /// The URLs' parts of the connections and of --rate, separated by commas
    #[arg(long, value_name = "WEIGHTS", value_delimiter = ',')]
    weights: Option<Vec<f64>>,

    /// Objects that {key} in a URL's path stands for, by numbers from 0
    #[arg(long, value_name = "N")]
    keys: Option<u64>,

    /// Popularity of the keys by Zipf's law with this exponent; without it, all are equal
    #[arg(long, value_name = "ALPHA", requires = "keys")]
    zipf: Option<f64>,

    /// Method of the request
    #[arg(short = 'X', long, default_value_t = default::method())]
    method: String,

    /// A header of the request, `Name: value`; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header)]
    headers: Vec<(String, String)>,

    /// Body of the request
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["body_file", "size"])]
    body: Option<String>,

    /// Body of the request, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "size")]
    body_file: Option<PathBuf>,

    /// Bytes of the message to echo, or of an arbitrary body
    #[arg(short, long, value_name = "BYTES")]
    size: Option<usize>,

    /// Statuses that are correct, separated by commas
    #[arg(
        long,
        value_name = "CODES",
        value_delimiter = ',',
        default_value = "200"
    )]
    expect_status: Vec<u16>,

    /// Length of a correct body, in bytes
    #[arg(long, value_name = "BYTES")]
    expect_length: Option<u64>,

    /// SHA-256 of a correct body, in hexadecimal digits
    #[arg(long, value_name = "DIGITS")]
    expect_sha256: Option<String>,

    /// Time limit for a complete answer
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = seconds)]
    timeout: f64,

    /// Time limit for making a connection, handshakes included [default: as --timeout]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    connect_timeout: Option<f64>,

    /// Time limit for the first byte of an answer [default: as --timeout]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    ttfb_timeout: Option<f64>,

    /// The only TLS version to offer: 1.2 or 1.3
    #[arg(long, value_name = "VERSION", help_heading = TLS)]
    tls_version: Option<String>,

    /// The only TLS cipher suite to offer, as TLS_AES_128_GCM_SHA256
    #[arg(long, value_name = "NAME", help_heading = TLS)]
    cipher: Option<String>,

    /// The only TLS key exchange group to offer, as X25519
    #[arg(long, value_name = "NAME", help_heading = TLS)]
    group: Option<String>,

    /// Resume TLS sessions on later connections; without it, each makes a full handshake
    #[arg(long, help_heading = TLS)]
    resume: bool,

    /// Server name to request, if not the URL's host
    #[arg(long, value_name = "NAME", help_heading = TLS)]
    server_name: Option<String>,

    /// Verify the server's certificate by those of a PEM file; without it, by the system's, unless
    /// the server is on this machine
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    roots: Option<PathBuf>,

    /// Accept any certificate of the server
    #[arg(short = 'k', long, conflicts_with = "roots", help_heading = TLS)]
    insecure: bool,

    /// Connect over IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,

    /// Connect over IPv6 only
    #[arg(short = '6', long)]
    ipv6: bool,

    /// Local addresses that connections take turns in, separated by commas
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',')]
    sources: Vec<IpAddr>,

    /// TCP congestion control, as cubic; without it, the kernel's default
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,

    /// CPUs to run on, separated by commas: thread i on the i-th
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    cpus: Option<Vec<usize>>,

    /// Seed of all that is random
    #[arg(long, value_name = "N", default_value_t = default::seed())]
    seed: u64,

    /// The output of the run.
    #[command(flatten)]
    pub output: Output,
}

impl Cli {
    /// The spec that the arguments stand for.
    ///
    /// # Errors
    /// A [`SpecError`] when there are not as many weights as URLs.
    pub fn into_spec(self) -> Result<Spec, SpecError> {
        let rounds = Some(self.rounds).filter(|rounds| *rounds > 0);
        let limit = Some(self.qps).filter(|qps| *qps != 0.0);
        let pace = match self.rate {
            Some(rate) => Pace::Open {
                rate,
                arrivals: self.arrivals,
                wait: self.wait,
            },
            None if self.serial => Pace::Serial { limit },
            None => Pace::Closed { limit },
        };
        let bare = |url: &String| url.starts_with("tcp:") || url.starts_with("unix:");
        let default = if self.urls.iter().any(bare) {
            "echo"
        } else {
            "h1"
        };
        let text = self.body.map(Body::Text);
        let file = self.body_file.map(|file| Body::File { file });
        let made = self.size.map(|size| Body::Size { size });
        let (url, targets) = targets(self.urls, self.weights)?;
        Ok(Spec {
            schema: default::schema(),
            protocol: self.protocol.unwrap_or_else(|| default.into()),
            url,
            targets,
            method: self.method,
            headers: self.headers,
            body: text.or(file).or(made),
            keys: self.keys.map(|count| KeySpec {
                count,
                alpha: self.zipf,
                order: Order::Random,
            }),
            tls: Tls {
                version: self.tls_version,
                cipher: self.cipher,
                group: self.group,
                resume: self.resume,
                server_name: self.server_name,
                roots: self.roots,
                insecure: self.insecure,
            },
            connections: self.connections,
            depth: self.depth,
            ip_version: match (self.ipv4, self.ipv6) {
                (true, _) => Some(IpVersion::V4),
                (_, true) => Some(IpVersion::V6),
                _ => None,
            },
            sources: self.sources,
            congestion: self.congestion,
            threads: self.threads,
            cpus: self.cpus,
            pace,
            think: self.think,
            slices: None,
            requests: rounds,
            warmup_s: self.warmup.unwrap_or(match rounds {
                None => default::warmup_s(),
                Some(_) => 0.0,
            }),
            duration_s: self.duration.unwrap_or(match rounds {
                None => default::duration_s(),
                Some(_) => default::LONGEST_S,
            }),
            cooldown_s: 0.0,
            requests_per_connection: self.requests_per_connection,
            ramp_per_s: self.ramp,
            timeout_s: self.timeout,
            connect_timeout_s: self.connect_timeout,
            ttfb_timeout_s: self.ttfb_timeout,
            seed: self.seed,
            expect: Expect {
                status: self.expect_status,
                body_length: self.expect_length,
                body_sha256: self.expect_sha256,
            },
        })
    }
}

/// One URL by itself, or several as targets with weights.
fn targets(
    mut urls: Vec<String>,
    weights: Option<Vec<f64>>,
) -> Result<(Option<String>, Vec<TargetSpec>), SpecError> {
    let weights = weights.unwrap_or_else(|| vec![1.0; urls.len()]);
    if weights.len() != urls.len() {
        let found = format!("{} for {} URLs", weights.len(), urls.len());
        return Err(SpecError::new("weights", found, "write one for each URL"));
    }
    if urls.len() == 1 {
        return Ok((urls.pop(), Vec::new()));
    }
    let target = |(url, weight)| TargetSpec {
        weight,
        ..TargetSpec::of(url)
    };
    Ok((None, urls.into_iter().zip(weights).map(target).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(arguments: &str) -> Spec {
        let words = ["tare-load"].into_iter().chain(arguments.split(' '));
        let cli = Cli::try_parse_from(words).expect("valid arguments");
        cli.into_spec().expect("a spec")
    }

    #[test]
    fn the_arguments_have_the_spec_s_defaults() {
        let its = Spec::from_json(r#"{"url": "http://a/"}"#).unwrap();
        assert_eq!(format!("{:?}", spec("http://a/")), format!("{its:?}"));
    }

    #[test]
    fn a_spec_goes_alone() {
        assert!(Cli::try_parse_from(["tare-load"]).is_err());
        assert!(Cli::try_parse_from(["tare-load", "--spec", "f", "http://a/"]).is_err());
        assert!(Cli::try_parse_from(["tare-load", "--spec", "f"]).is_ok());
    }

    #[test]
    fn rounds_and_limits_are_as_echo_clients_know_them() {
        let made = spec("tcp://127.0.0.1:9 -c 20 -r 200000 -s 128");
        assert_eq!((made.protocol.as_str(), made.connections), ("echo", 20));
        assert_eq!((made.requests, made.warmup_s), (Some(200_000), 0.0));
        assert_eq!(made.body, Some(Body::Size { size: 128 }));
        let made = spec("unix:/run/echo -q 50000 -d 60 -r 0");
        assert_eq!((made.requests, made.duration_s), (None, 60.0));
        let limit = Some(50_000.0);
        assert_eq!(made.pace, Pace::Closed { limit });
        let serial = spec("tcp://127.0.0.1:9 --serial");
        assert_eq!(serial.pace, Pace::Serial { limit: None });
    }

    #[test]
    fn an_open_loop_spins_unless_it_is_to_sleep() {
        let made = |more: &str| spec(&format!("http://a/ --rate 5 --arrivals even{more}")).pace;
        let (rate, arrivals) = (5.0, Spread::Even);
        for (more, wait) in [("", Wait::Spin), (" --wait sleep", Wait::Sleep)] {
            let wanted = Pace::Open {
                rate,
                arrivals,
                wait,
            };
            assert_eq!(made(more), wanted);
        }
    }

    #[test]
    fn one_version_of_ip_may_be_asked_for() {
        assert_eq!(spec("http://a/ -4").ip_version, Some(IpVersion::V4));
        assert_eq!(spec("http://a/ -6").ip_version, Some(IpVersion::V6));
        assert!(Cli::try_parse_from(["tare-load", "http://a/", "-4", "-6"]).is_err());
    }

    #[test]
    fn several_urls_are_targets_by_weight() {
        let made = spec("http://a/ http://b/ --weights 3,1");
        let weights: Vec<f64> = made.targets.iter().map(|target| target.weight).collect();
        assert_eq!((made.url, weights), (None, vec![3.0, 1.0]));
        let words = ["tare-load", "http://a/", "--weights", "1,2"];
        let cli = Cli::try_parse_from(words).unwrap();
        let error = cli.into_spec().unwrap_err().to_string();
        assert!(error.starts_with("weights: 2 for 1 URLs"), "{error}");
    }
}
