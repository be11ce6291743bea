//! The command line.

mod files;
mod help;
mod names;
mod network;
mod output;
mod pace;
mod replay;
mod request;
mod tls;
pub mod values;

use std::path::PathBuf;

use clap::Parser;

pub use self::names::Names;
use self::network::Network;
pub use self::output::Output;
pub use self::pace::PaceOptions;
use self::replay::ReplayOptions;
use self::request::Request;
use self::tls::TlsOptions;
use crate::spec::{Order, Profile, Spec, SpecError, TargetSpec, default};
use crate::time::seconds;

/// A load generator: requests by the clock, true latencies, little CPU.
#[derive(Debug, Parser)]
#[command(name = "tare-load", version, after_help = help::EXAMPLES, args_override_self = true)]
pub struct Cli {
    /// URLs to request: http://, https://, http://unix:/SOCKET:/PATH, ws://, wss://,
    /// tcp:// or unix:/SOCKET
    #[arg(required_unless_present_any = ["spec", "requests"])]
    urls: Vec<String>,

    /// Run as an instrument of the laboratory, by the spec in FILE (docs/FORMAT.md)
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub spec: Option<PathBuf>,

    /// Protocol; default: h1 for http:// and https://, ws for ws:// and wss://, echo for tcp://
    /// and unix:. On http://, h2 is
    /// sent without asking whether the server supports it; auto is h2 if the server chooses it in TLS,
    /// else h1
    #[arg(short, long, value_name = "NAME", value_parser = ["h1", "h2", "h3", "auto", "grpc", "ws", "echo", "proto"])]
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

    /// The URLs' parts of the connections and of --rate, separated by commas
    #[arg(long, value_name = "WEIGHTS", value_delimiter = ',')]
    weights: Option<Vec<f64>>,

    /// Time limit for a complete answer
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = seconds)]
    timeout: f64,

    /// Time limit for making a connection, handshakes included [default: as --timeout]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    connect_timeout: Option<f64>,

    /// Time limit for the first byte of an answer, at most that of --timeout [default: the same]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    ttfb_timeout: Option<f64>,

    /// CPUs to run on, separated by commas: thread i on the i-th
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    cpus: Option<Vec<usize>>,

    /// Seed of all that is random
    #[arg(long, value_name = "N", default_value_t = default::seed())]
    seed: u64,

    /// The requests.
    #[command(flatten)]
    request: Request,

    /// The times at which they are sent.
    #[command(flatten)]
    pub pace: PaceOptions,

    /// The replay of a log.
    #[command(flatten)]
    replay: ReplayOptions,

    /// The way to the server.
    #[command(flatten)]
    network: Network,

    /// TLS.
    #[command(flatten)]
    tls: TlsOptions,

    /// The output of the run.
    #[command(flatten)]
    pub output: Output,
}

impl Cli {
    /// Return true if the correct statuses are named.
    pub fn names_statuses(&self) -> bool {
        self.request.expect_status.is_some()
    }

    /// The spec that the arguments stand for.
    ///
    /// # Errors
    /// A [`SpecError`] when there are not as many weights as URLs, for arguments that have no place
    /// beside another, and for a file that is written by two of them.
    pub fn into_spec(self) -> Result<Spec, SpecError> {
        let bare = |url: &String| url.starts_with("tcp:") || url.starts_with("unix:");
        let socket = |url: &String| url.starts_with("ws:") || url.starts_with("wss:");
        let protocol = match &self.urls {
            urls if urls.iter().any(bare) => "echo",
            urls if urls.iter().any(socket) => "ws",
            _ => "h1",
        };
        if self.urls.iter().any(socket) && !self.urls.iter().all(socket) {
            let found = "ws:// beside other URLs";
            let remedy = "give all the same, or run one after the other";
            return Err(SpecError::new("targets", found, remedy));
        }
        self.check_files()?;
        self.replay.check(&self.urls)?;
        self.request.check(&self.urls)?;
        let headers = self.request.all_headers()?;
        let Request {
            method,
            requests,
            in_order,
            ..
        } = self.request.clone();
        let warmup_s = self.pace.warmup_s(self.replay.is_some());
        let duration_s = self.pace.duration_s(self.replay.has_end());
        let expect_logged = self.request.expect_status.is_none();
        let (url, targets) = targets(self.urls, self.weights)?;
        Ok(Spec {
            schema: default::schema(),
            protocol: self.protocol.unwrap_or_else(|| protocol.into()),
            url,
            targets,
            method,
            headers,
            body: self.request.body(),
            mix: Vec::new(),
            mix_file: requests,
            mix_order: match in_order {
                true => Order::Turns,
                false => Order::Random,
            },
            sequence: self.request.sequence(),
            replay: self.replay.spec(expect_logged, self.pace.wait()),
            cache_header: self.request.cache_header.clone(),
            keys: self.request.keys(),
            tls: self.tls.spec(),
            connections: self.connections,
            depth: self.depth,
            ip_version: self.network.ip_version(),
            connect_to: self.network.redirects()?,
            proxy_protocol: self.network.proxy_protocol,
            sources: self.network.sources,
            congestion: self.network.congestion,
            threads: self.threads,
            cpus: self.cpus,
            pace: self.pace.pace(),
            profile: self.pace.profile.clone(),
            think: self.pace.think,
            slices: None,
            requests: self.pace.requests(),
            warmup_s,
            duration_s,
            cooldown_s: 0.0,
            requests_per_connection: self.requests_per_connection,
            ramp_per_s: self.pace.ramp,
            timeout_s: self.timeout,
            connect_timeout_s: self.connect_timeout,
            ttfb_timeout_s: self.ttfb_timeout,
            ask: false,
            show: self.output.show,
            times_file: self.output.times.clone(),
            start_file: None,
            seed: self.seed,
            expect: self.request.expect(),
        })
    }

    /// Refuse a file that two options name, one of which writes it.
    fn check_files(&self) -> Result<(), SpecError> {
        let profile = self
            .pace
            .profile
            .as_ref()
            .and_then(|profile| match profile {
                Profile::File { file } => Some(file.as_path()),
                _ => None,
            });
        let output = &self.output;
        let written = [
            ("--series", output.series.as_deref()),
            ("--csv", output.csv.as_deref()),
            ("--hdr-log", output.hdr_log.as_deref()),
            ("--times", output.times.as_deref()),
        ];
        let read = [
            ("--requests", self.request.requests.as_deref()),
            ("--replay", self.replay.file()),
            ("--body-file", self.request.body_file.as_deref()),
            ("--profile", profile),
            ("--roots", self.tls.roots.as_deref()),
            ("--cert", self.tls.cert.as_deref()),
            ("--key", self.tls.key.as_deref()),
        ];
        files::check(&written, &read)
    }
}

/// One URL by itself, or several as targets with weights.
fn targets(
    mut urls: Vec<String>,
    weights: Option<Vec<f64>>,
) -> Result<(Option<String>, Vec<TargetSpec>), SpecError> {
    if urls.is_empty() && weights.is_none() {
        return Ok((None, Vec::new()));
    }
    let weights_given = weights.is_some();
    let weights = weights.unwrap_or_else(|| vec![1.0; urls.len()]);
    if weights.len() != urls.len() {
        let found = format!("{} for {} URLs", weights.len(), urls.len());
        return Err(SpecError::new("weights", found, "write one for each URL"));
    }
    if urls.len() == 1 && weights_given {
        let found = "one URL has all of the load";
        return Err(SpecError::new("weights", found, "leave them out"));
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
    use crate::spec::{Body, IpVersion, Pace, Spread, Wait};

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
    fn a_load_that_ends_by_itself_has_all_the_time_that_it_needs() {
        for arguments in [
            "http://a/ -r 7",
            "http://a/ --replay f",
            "http://a/ -r 7 --rate 1",
        ] {
            let made = spec(arguments);
            let load = crate::plan::load(&made, vec![]).expect("a load");
            let years = load.duration / (365 * 86_400 * 1_000_000_000);
            assert!(made.is_unbounded() && years >= 100, "{arguments}: {years}");
        }
        for arguments in [
            "http://a/",
            "http://a/ -r 7 -d 1h",
            "http://a/ --replay f --loop",
        ] {
            assert!(!spec(arguments).is_unbounded(), "{arguments}");
        }
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
    fn how_to_wait_and_to_spread_is_for_a_clock() {
        let made = |arguments: &str| Cli::try_parse_from(arguments.split(' ')).is_ok();
        for clock in ["--rate 5", "--steps 1:2:1", "--replay f"] {
            assert!(made(&format!("load http://a/ --wait sleep {clock}")));
            let arrivals = made(&format!("load http://a/ --arrivals even {clock}"));
            assert_eq!(arrivals, clock != "--replay f");
        }
        for clock in ["", " --qps 5", " --serial"] {
            for option in ["--wait sleep", "--arrivals even"] {
                assert!(!made(&format!("load http://a/ {option}{clock}")));
            }
        }
    }

    #[test]
    fn one_version_of_ip_may_be_asked_for() {
        assert_eq!(spec("http://a/ -4").ip_version, Some(IpVersion::V4));
        assert_eq!(spec("http://a/ -6").ip_version, Some(IpVersion::V6));
        assert!(Cli::try_parse_from(["tare-load", "http://a/", "-4", "-6"]).is_err());
    }

    #[test]
    fn a_file_of_requests_may_stand_for_urls() {
        let made = spec("--requests f --in-order");
        assert_eq!((made.url, made.mix_order), (None, Order::Turns));
        assert_eq!(made.mix_file, Some("f".into()));
        let made = spec("http://a/ --requests f");
        assert_eq!(
            (made.url.as_deref(), made.mix_order),
            (Some("http://a/"), Order::Random)
        );
        assert!(Cli::try_parse_from(["tare-load", "http://a/", "--in-order"]).is_err());
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
