//! `tare-sandbox loads`: how long it takes until a binary that the daemon is given can be called.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::{Map, Value};

use crate::client::Client;
use crate::instrument::{Event, NAME, Spec};
use crate::protocol::{Action, Answer, Call, Request, framed};

/// The daemon has the same binary as this, and is trusted to answer right.
const KNOWN: &str = "udf";

/// Quantiles, and the samples that each takes: FORMAT.md says why.
const QUANTILES: [(&str, f64, usize); 3] = [("p50", 0.5, 5), ("p90", 0.9, 29), ("p99", 0.99, 299)];

/// Measure as the file says, and prints events.
pub fn run(file: &Path) -> Result<()> {
    let spec = Spec::read(file);
    let mut loads = Loads::new(&spec)?;
    let warm = loads.series("warmup", spec.warmup_s)?;
    Event::Measure { t_s: loads.t_s() }.print()?;
    let opened = Instant::now();
    let times = loads.series("measure", spec.duration_s)?;
    let window_s = opened.elapsed().as_secs_f64();
    Event::Measured { t_s: loads.t_s() }.print()?;
    let requests = warm.len() + times.len();
    Event::result(
        "tare-sandbox loads",
        window_s,
        outcomes(times, window_s),
        requests,
    )
    .print()
}

/// One connection, and what is said over it again and again.
struct Loads {
    begun: Instant,
    client: Client,
    load: Vec<u8>,
    answer: Vec<u8>,
}

impl Loads {
    fn new(spec: &Spec) -> Result<Self> {
        let mut client = Client::connect(&spec.socket, None)?;
        Ok(Loads {
            begun: Instant::now(),
            answer: call(&mut client, KNOWN)?,
            load: framed(&Request {
                action: Some(spec.load()?),
            }),
            client,
        })
    }

    fn t_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Load until the time is up, and once at least; how long each took.
    fn series(&mut self, phase: &'static str, seconds: f64) -> Result<Vec<Duration>> {
        let (begun, mut told, mut times) = (Instant::now(), 0, Vec::new());
        let mut second = 1.0;
        while times.is_empty() || begun.elapsed().as_secs_f64() < seconds {
            times.push(self.load()?);
            if begun.elapsed().as_secs_f64() >= second {
                Event::Progress {
                    t_s: self.t_s(),
                    phase,
                    rate: times.len() - told,
                    errors: 0,
                }
                .print()?;
                told = times.len();
                second += 1.0;
            }
        }
        Ok(times)
    }

    /// One load, from its first byte sent to the word that it is done. It is then called, which must
    /// give what the same binary gave before, and unloaded.
    fn load(&mut self) -> Result<Duration> {
        let begun = Instant::now();
        let said = self.client.send_frame(&self.load)?;
        let took = begun.elapsed();
        ensure!(said == Answer::Done(true), "loading: {said:?}");
        let (found, expected) = (call(&mut self.client, NAME)?, &self.answer);
        ensure!(
            found == *expected,
            "what was loaded answers {found:?}, expected {expected:?}"
        );
        match self.client.request(Action::Unload(NAME.into()))? {
            Answer::Done(true) => Ok(took),
            other => bail!("unloading: {other:?}"),
        }
    }
}

fn call(client: &mut Client, name: &str) -> Result<Vec<u8>> {
    let call = Call {
        name: name.into(),
        ..Call::default()
    };
    match client.request(Action::Call(call))? {
        Answer::Response(response) => Ok(response.response),
        other => bail!("calling {name}: {other:?}"),
    }
}

fn outcomes(mut times: Vec<Duration>, window_s: f64) -> Map<String, Value> {
    times.sort_unstable();
    let us: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
    let count = us.len() as f64;
    let mut found = Map::new();
    let mut put = |name: &str, value: Option<f64>| found.insert(name.into(), value.into());
    put("requests", Some(count));
    put("requests_per_second", Some(count / window_s));
    put("latency_mean_us", Some(us.iter().sum::<f64>() / count));
    put("latency_max_us", us.last().copied());
    for (name, quantile, least) in QUANTILES {
        // By the nearest rank.
        let rank = (quantile * count).ceil() as usize;
        let value = (us.len() >= least).then(|| us[rank - 1]);
        put(&format!("latency_{name}_us"), value);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_take_their_samples() {
        let times = |count: u64| (1..=count).rev().map(Duration::from_micros).collect();
        let number = |found: &Map<String, Value>, name: &str| found[name].as_f64().map(f64::round);
        let few = outcomes(times(4), 2.0);
        assert_eq!(number(&few, "requests_per_second"), Some(2.0));
        assert_eq!(number(&few, "latency_max_us"), Some(4.0));
        assert!(few["latency_p50_us"].is_null());
        let many = outcomes(times(300), 1.0);
        assert_eq!(number(&many, "latency_p50_us"), Some(150.0));
        assert_eq!(number(&many, "latency_p99_us"), Some(297.0));
        assert!(outcomes(times(298), 1.0)["latency_p99_us"].is_null());
    }
}
