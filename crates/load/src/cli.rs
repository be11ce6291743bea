//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::spec::{Expect, Pace, Spec, SpecError, Spread, default};

const EXAMPLES: &str = "\
Examples:
  tare-load http://127.0.0.1:8080/                        as many requests as 64 connections carry
  tare-load http://[::1]:8080/a -c 20 -d 30s --cpus 1     20 connections, half a minute, on CPU 1
  tare-load http://127.0.0.1:8080/ --rate 5000            5,000 a second by the clock, however slow the answers
  tare-load http://127.0.0.1:8080/ -m POST --body '{}' -H 'Content-Type: application/json' --expect-status 201
  tare-load --spec spec.json                              an instrument of the laboratory: JSON lines

Latency runs from the moment a request was meant to be sent, so that a server which stalls cannot
hide the wait of those behind; service time runs from the actual send.

Exit codes: 0 all answers were correct, 1 some were not, 2 the arguments cannot be used.
With --spec: 0 there is a result, 2 the spec cannot be used, 1 anything else.";

/// A load generator: requests by the clock, true latencies, little CPU.
#[derive(Debug, Parser)]
#[command(name = "tare-load", version, after_help = EXAMPLES)]
pub struct Cli {
    /// What to request: http://HOST[:PORT]/PATH
    #[arg(required_unless_present = "spec")]
    pub url: Option<String>,

    /// Run as an instrument of the laboratory, by the spec in FILE (docs/FORMAT.md)
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub spec: Option<PathBuf>,

    /// Connections over all threads
    #[arg(short, long, value_name = "N", default_value_t = default::connections())]
    connections: usize,

    /// Worker threads
    #[arg(short, long, value_name = "N", default_value_t = default::threads())]
    threads: usize,

    /// How long to measure: 10, 10s, 500ms or 2m
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = seconds)]
    duration: f64,

    /// Requests per second by the clock (open loop); without it, each answer brings the next request
    #[arg(long, value_name = "R")]
    rate: Option<f64>,

    /// How the requests of --rate are spread
    #[arg(long, value_enum, default_value_t = Spread::Poisson, requires = "rate")]
    arrivals: Spread,

    /// Load before the measurement
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = seconds)]
    warmup: f64,

    /// Method of the request
    #[arg(short, long, default_value_t = default::method())]
    method: String,

    /// A header of the request, `Name: value`; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header)]
    headers: Vec<(String, String)>,

    /// Body of the request
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,

    /// Statuses that are correct, separated by commas
    #[arg(
        long,
        value_name = "CODES",
        value_delimiter = ',',
        default_value = "200"
    )]
    expect_status: Vec<u16>,

    /// CPUs to run on, separated by commas: thread i on the i-th
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    cpus: Option<Vec<usize>>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Seed of the arrivals
    #[arg(long, value_name = "N", default_value_t = default::seed())]
    seed: u64,

    /// How long a connection or an answer may take
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = seconds)]
    timeout: f64,

    /// Connections opened per second; without it, all at once
    #[arg(long, value_name = "N")]
    ramp: Option<f64>,
}

impl Cli {
    /// The spec that the arguments stand for.
    ///
    /// # Errors
    /// A [`SpecError`] when there is no URL.
    pub fn into_spec(self) -> Result<Spec, SpecError> {
        let no_url = || SpecError::new("url", "there is none", "write http://HOST[:PORT]/PATH");
        Ok(Spec {
            schema: default::schema(),
            protocol: default::protocol(),
            url: self.url.ok_or_else(no_url)?,
            method: self.method,
            headers: self.headers.into_iter().collect(),
            body: self.body,
            connections: self.connections,
            threads: self.threads,
            cpus: self.cpus,
            pace: match self.rate {
                Some(rate) => Pace::Open {
                    rate,
                    arrivals: self.arrivals,
                },
                None => Pace::Closed,
            },
            warmup_s: self.warmup,
            duration_s: self.duration,
            cooldown_s: 0.0,
            ramp_per_s: self.ramp,
            timeout_s: self.timeout,
            seed: self.seed,
            expect: Expect {
                status: self.expect_status,
                ..Expect::default()
            },
        })
    }
}

/// A time in seconds: a number with `ms`, `s`, `m`, `h` or nothing behind it.
fn seconds(text: &str) -> Result<f64, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("{unit:?} is no unit of time; write ms, s, m or h")),
    };
    let number = &text[..text.len() - unit.len()];
    let number: f64 = number
        .parse()
        .map_err(|_| "a time begins with a number, as in 10s".to_string())?;
    Ok(number * scale)
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `Name: value`")?;
    Ok((name.trim().into(), value.trim().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(seconds("1.5"), Ok(1.5));
        assert_eq!(seconds("250ms"), Ok(0.25));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert!(seconds("10x").is_err());
        assert!(seconds("s").is_err());
        assert!(seconds("").is_err());
    }

    #[test]
    fn the_arguments_have_the_spec_s_defaults() {
        let cli = Cli::try_parse_from(["tare-load", "http://a/"]).unwrap();
        let ours = cli.into_spec().unwrap();
        let its = Spec::from_json(r#"{"url": "http://a/"}"#).unwrap();
        assert_eq!(format!("{ours:?}"), format!("{its:?}"));
    }

    #[test]
    fn a_spec_goes_alone() {
        assert!(Cli::try_parse_from(["tare-load"]).is_err());
        assert!(Cli::try_parse_from(["tare-load", "--spec", "f", "http://a/"]).is_err());
        assert!(Cli::try_parse_from(["tare-load", "--spec", "f"]).is_ok());
    }
}
