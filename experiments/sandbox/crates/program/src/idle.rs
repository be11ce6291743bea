//! `tare-sandbox idle`: workers that are ready and are not called, so that what they take is seen.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use crate::client::Client;
use crate::instrument::{Event, NAME, Spec};
use crate::protocol::{Action, Answer};

/// Interval between checks whether all workers are ready.
const PAUSE: Duration = Duration::from_millis(20);

/// Load as the file says, and does nothing while the window is open. What it loaded stays until it
/// is started again: a reading at the end of the window finds all of it there.
pub fn run(file: &Path) -> Result<()> {
    let spec = Spec::read(file);
    let begun = Instant::now();
    let mut client = Client::connect(&spec.socket, None)?;
    if handle(&mut client)?.is_some() {
        client.request(Action::Unload(NAME.into()))?;
    }
    client.request(spec.load()?)?;
    loop {
        let ready = handle(&mut client)?.context("what was loaded is gone")?;
        if ready == u64::from(spec.workers) {
            break;
        }
        ensure!(
            begun.elapsed().as_secs_f64() < spec.warmup_s,
            "{ready} workers are ready after warmup_s, expected {}",
            spec.workers
        );
        std::thread::sleep(PAUSE);
    }
    let t_s = || begun.elapsed().as_secs_f64();
    Event::Measure { t_s: t_s() }.print()?;
    std::thread::sleep(Duration::from_secs_f64(spec.duration_s));
    Event::Measured { t_s: t_s() }.print()?;
    Event::result("tare-sandbox idle", spec.duration_s, nothing(), 0).print()
}

/// Statistics of no calls, in the form that an experiment on calls expects.
fn nothing() -> Map<String, Value> {
    let mut found = Map::from_iter([("requests".to_owned(), Value::from(0))]);
    for name in [
        "requests_per_second",
        "latency_mean_us",
        "latency_p50_us",
        "latency_p99_us",
    ] {
        found.insert(name.to_owned(), Value::Null);
    }
    found
}

/// Return the number of ready workers of the loaded binary, or `None` if it is not loaded.
fn handle(client: &mut Client) -> Result<Option<u64>> {
    let Answer::Stats(text) = client.request(Action::Stats(false))? else {
        bail!("no statistics where they were asked for");
    };
    let stats: Value = serde_json::from_str(&text)?;
    Ok(stats["handles"][NAME]["ready"].as_u64())
}
