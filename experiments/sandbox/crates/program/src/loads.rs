//! `tare-sandbox loads`: how long it takes until a binary that the daemon is given can be called. An
//! instrument of the laboratory (docs/FORMAT.md, "The instrument protocol").

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::protocol::{Ask, Call, Load, LoadOptions, Request, Say, framed};

/// What is measured is loaded as this, and the daemon has the same binary as [`KNOWN`].
const NAME: &str = "loaded";
const KNOWN: &str = "udf";

/// Samples that a quantile takes: FORMAT.md says why.
const LEAST: [(&str, f64, usize); 3] = [("p50", 0.5, 5), ("p90", 0.9, 29), ("p99", 0.99, 299)];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    schema: u32,
    socket: PathBuf,
    binary: PathBuf,
    workers: u32,
    warmup_s: f64,
    duration_s: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "event")]
enum Event {
    Progress {
        t_s: f64,
        phase: &'static str,
        rate: usize,
        errors: u32,
    },
    Measure {
        t_s: f64,
    },
    Measured {
        t_s: f64,
    },
    Result {
        schema: u32,
        instrument: String,
        protocol: &'static str,
        window_s: f64,
        outcomes: serde_json::Map<String, serde_json::Value>,
        errors: serde_json::Map<String, serde_json::Value>,
        total: Total,
    },
}

#[derive(Serialize)]
struct Total {
    requests: usize,
}

/// Measures as the file says, and prints events.
pub fn run(file: &Path) -> Result<()> {
    let spec = match spec(file) {
        Ok(spec) => spec,
        Err(why) => {
            eprintln!("tare-sandbox loads: {why:#}");
            std::process::exit(2);
        }
    };
    let mut loads = Loads::new(&spec)?;
    let begun = Instant::now();
    let t_s = || begun.elapsed().as_secs_f64();
    let warm = loads.series("warmup", Duration::from_secs_f64(spec.warmup_s), &t_s)?;
    say(&Event::Measure { t_s: t_s() })?;
    let opened = Instant::now();
    let times = loads.series("measure", Duration::from_secs_f64(spec.duration_s), &t_s)?;
    let window_s = opened.elapsed().as_secs_f64();
    say(&Event::Measured { t_s: t_s() })?;
    let requests = warm.len() + times.len();
    say(&Event::Result {
        schema: 1,
        instrument: format!("tare-sandbox loads {}", env!("CARGO_PKG_VERSION")),
        protocol: "proto",
        window_s,
        outcomes: outcomes(times, window_s),
        errors: serde_json::Map::new(),
        total: Total { requests },
    })
}

fn spec(file: &Path) -> Result<Spec> {
    let text = fs::read(file).with_context(|| file.display().to_string())?;
    let spec: Spec = serde_json::from_slice(&text).with_context(|| file.display().to_string())?;
    ensure!(
        spec.schema == 1,
        "schema: found {}, expected 1",
        spec.schema
    );
    for (name, seconds) in [("warmup_s", spec.warmup_s), ("duration_s", spec.duration_s)] {
        ensure!(
            (0.0..1e6).contains(&seconds),
            "{name}: found {seconds}, expected seconds"
        );
    }
    Ok(spec)
}

/// One connection, and what is said over it again and again.
struct Loads {
    client: Client,
    load: Vec<u8>,
    answer: Vec<u8>,
}

impl Loads {
    fn new(spec: &Spec) -> Result<Self> {
        let binary = fs::read(&spec.binary).with_context(|| spec.binary.display().to_string())?;
        let load = Ask::Load(Load {
            name: NAME.into(),
            binary,
            options: Some(LoadOptions {
                workers: spec.workers,
                ..LoadOptions::default()
            }),
        });
        let mut client = Client::connect(&spec.socket)?;
        Ok(Loads {
            answer: call(&mut client, KNOWN)?,
            load: framed(&Request { ask: Some(load) }),
            client,
        })
    }

    /// Loads until the time is up, at least one; how long each took.
    fn series(
        &mut self,
        phase: &'static str,
        time: Duration,
        t_s: &impl Fn() -> f64,
    ) -> Result<Vec<Duration>> {
        let (begun, mut told, mut times) = (Instant::now(), 0, Vec::new());
        let mut next = Duration::from_secs(1);
        while times.is_empty() || begun.elapsed() < time {
            times.push(self.load()?);
            if begun.elapsed() >= next {
                next += Duration::from_secs(1);
                say(&Event::Progress {
                    t_s: t_s(),
                    phase,
                    rate: times.len() - told,
                    errors: 0,
                })?;
                told = times.len();
            }
        }
        Ok(times)
    }

    /// One load, from its first byte sent to the word that it is done. It is then called, which must
    /// give what the same binary gave before, and unloaded.
    fn load(&mut self) -> Result<Duration> {
        let begun = Instant::now();
        let said = self.client.send(&self.load)?;
        let took = begun.elapsed();
        ensure!(said == Say::Done(true), "loading: {said:?}");
        let found = call(&mut self.client, NAME)?;
        ensure!(
            found == self.answer,
            "what was loaded answers {found:?}, expected {:?}",
            self.answer
        );
        match self.client.ask(Ask::Unload(NAME.into()))? {
            Say::Done(true) => Ok(took),
            other => bail!("unloading: {other:?}"),
        }
    }
}

fn call(client: &mut Client, name: &str) -> Result<Vec<u8>> {
    let call = Call {
        name: name.into(),
        ..Call::default()
    };
    match client.ask(Ask::Call(call))? {
        Say::Response(response) => Ok(response.response),
        other => bail!("calling {name}: {other:?}"),
    }
}

fn outcomes(mut times: Vec<Duration>, window_s: f64) -> serde_json::Map<String, serde_json::Value> {
    times.sort_unstable();
    let us: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
    let mut found = serde_json::Map::new();
    let mut put = |name: String, value: Option<f64>| {
        found.insert(name, value.into());
    };
    put("requests".into(), Some(us.len() as f64));
    put("requests_per_second".into(), Some(us.len() as f64 / window_s));
    put("latency_mean_us".into(), Some(us.iter().sum::<f64>() / us.len() as f64));
    put("latency_max_us".into(), us.last().copied());
    for (name, quantile, least) in LEAST {
        // Nearest rank.
        let rank = (quantile * us.len() as f64).ceil() as usize;
        let value = (us.len() >= least).then(|| us[rank - 1]);
        put(format!("latency_{name}_us"), value);
    }
    found
}

fn say(event: &Event) -> Result<()> {
    println!("{}", serde_json::to_string(event)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_take_their_samples() {
        let times = |count: u64| (1..=count).rev().map(Duration::from_micros).collect();
        let few = outcomes(times(4), 2.0);
        assert_eq!(few["requests_per_second"], 2.0);
        assert_eq!((&few["latency_mean_us"], &few["latency_max_us"]), (&2.5.into(), &4.0.into()));
        assert!(few["latency_p50_us"].is_null());
        let many = outcomes(times(300), 1.0);
        assert_eq!(many["latency_p50_us"].as_f64().map(f64::round), Some(150.0));
        assert_eq!(many["latency_p99_us"].as_f64().map(f64::round), Some(297.0));
        assert!(outcomes(times(298), 1.0)["latency_p99_us"].is_null());
    }
}
