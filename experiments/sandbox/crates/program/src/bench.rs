//! `tare-sandbox bench`: the original's benchmarks, for where the laboratory is not, as in a container.
//! One caller calls again as soon as it is answered: where that is sooner than a new worker is ready,
//! most of the time is waiting for one. `tare run sandbox` takes that apart; this does not.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail, ensure};
use prost::Message;
use rustix::time::{ClockId, clock_gettime};
use sandbox_runtime::binary::Binary;
use sandbox_runtime::call::Caller;
use sandbox_runtime::{Runtime, Settings, modes};
use serde_json::{Value, json};

use crate::benchmark::Benchmark;
use crate::functions::functions;
use crate::named::named;
use crate::payloads;

const UDF: &str = "udf";

/// The benchmark's options; the environment's names are those of Google Benchmark's own programs.
#[derive(clap::Args)]
pub struct Options {
    /// Modes, separated by commas [default: all that work here]
    #[arg(long, value_delimiter = ',')]
    modes: Vec<String>,
    /// Folder of the functions: c/hello and so on, and modules as wasm/c/hello
    #[arg(long, env = "TARE_UDFS")]
    udfs: PathBuf,
    /// The benchmarks of payloads, too: 31 sizes each of requests, responses and callbacks
    #[arg(long)]
    payloads: bool,
    /// Only benchmarks whose names contain this
    #[arg(long, default_value = "")]
    filter: String,
    /// Seconds that each repetition takes at least
    #[arg(long, env = "BENCHMARK_MIN_TIME", default_value_t = 0.5)]
    min_time: f64,
    /// Repetitions of each benchmark; compare.py wants nine
    #[arg(long, env = "BENCHMARK_REPETITIONS", default_value_t = 1)]
    repetitions: u32,
    /// A file for the results, in Google Benchmark's JSON
    #[arg(long, env = "BENCHMARK_OUT")]
    out: Option<PathBuf>,
}

/// The argument and the result of the sieve and the sort.
#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(uint64, tag = "1")]
    value: u64,
}

/// The response of hello.
#[derive(Clone, PartialEq, Message)]
struct Text {
    #[prost(string, tag = "1")]
    value: String,
}

/// A number of calls, and the time that they took the caller.
struct Timed {
    iterations: u64,
    real: Duration,
    cpu: Duration,
}

/// Run the benchmarks, prints a table, and writes the file that was asked for.
pub fn run(options: &Options) -> Result<()> {
    ensure!(
        (0.0..1e6).contains(&options.min_time),
        "--min-time: found {}, expected seconds",
        options.min_time
    );
    let asked = |path: &PathBuf| File::create(path).with_context(|| path.display().to_string());
    let out = options.out.as_ref().map(asked).transpose()?;
    println!(
        "{:66} {:>13} {:>13} {:>10}",
        "Benchmark", "Time", "CPU", "Iterations"
    );
    let mut results = Vec::new();
    let chosen = match &options.modes[..] {
        [] => modes::all(),
        names => names
            .iter()
            .map(|name| named(name))
            .collect::<Result<_>>()?,
    };
    for mode in chosen {
        let name = mode.name();
        match Runtime::new(mode, functions()) {
            Ok(runtime) => measure(&runtime, options, &mut results)?,
            Err(why) if options.modes.is_empty() => println!("{name} is unavailable: {why}"),
            Err(why) => bail!(why),
        }
    }
    ensure!(
        !results.is_empty(),
        "no benchmark of these modes is called as --filter says"
    );
    if let Some(file) = out {
        let whole = json!({"context": context(), "benchmarks": results});
        serde_json::to_writer_pretty(file, &whole)?;
    }
    Ok(())
}

fn measure(runtime: &Runtime, options: &Options, results: &mut Vec<Value>) -> Result<()> {
    let mode = runtime.mode().name();
    let folder = if mode == "wasm" { "wasm/c" } else { "c" };
    let payloads = options.payloads.then(payloads::all).into_iter().flatten();
    for benchmark in all().into_iter().chain(payloads) {
        let [before, behind] = &benchmark.names;
        let name = format!("{before}/mode:{mode}{behind}");
        if !name.contains(&options.filter) {
            continue;
        }
        let file = options.udfs.join(folder).join(benchmark.function);
        for index in 0..options.repetitions {
            let least = Duration::from_secs_f64(options.min_time);
            let timed = benchmark
                .run(runtime, &file, least)
                .with_context(|| name.clone())?;
            let us = |time: Duration| time.as_secs_f64() * 1e6 / timed.iterations as f64;
            let (real, cpu) = (us(timed.real), us(timed.cpu));
            println!(
                "{name:66} {real:>10.1} us {cpu:>10.1} us {:>10}",
                timed.iterations
            );
            results.push(json!({
                "name": name, "run_name": name, "run_type": "iteration",
                "repetitions": options.repetitions, "repetition_index": index, "threads": 1,
                "iterations": timed.iterations, "real_time": real, "cpu_time": cpu, "time_unit": "us",
                "label": format!("mode:{mode}"),
            }));
        }
    }
    Ok(())
}

/// The original's benchmarks, with this project's names of modes.
fn all() -> Vec<Benchmark> {
    let hello = || Text {
        value: "Hello, world!".into(),
    };
    let number = |value| Number { value }.encode_to_vec();
    let mut made = vec![Benchmark {
        names: ["BM_LoadBinary".into(), String::new()],
        function: "hello",
        workers: 1,
        callbacks: false,
        request: Vec::new(),
        answer: hello().encode_to_vec(),
        loads: true,
    }];
    for workers in [1, 10] {
        made.push(Benchmark {
            names: [
                "BM_ProcessRequest".into(),
                format!("/udf:1/num_workers:{workers}"),
            ],
            function: "hello",
            workers,
            callbacks: false,
            request: Vec::new(),
            answer: hello().encode_to_vec(),
            loads: false,
        });
    }
    for (count, primes) in [
        (100_000, 9_592),
        (500_000, 41_538),
        (1_000_000, 78_498),
        (5_000_000, 348_513),
        (10_000_000, 664_579),
    ] {
        made.push(Benchmark {
            names: [
                "BM_ProcessRequestPrimeSieve".into(),
                format!("/prime_count:{count}"),
            ],
            function: "sieve",
            workers: 2,
            callbacks: false,
            request: number(count),
            answer: number(primes),
            loads: false,
        });
    }
    for count in [10_000, 100_000, 1_000_000] {
        made.push(Benchmark {
            names: [
                "BM_ProcessRequestSortList".into(),
                format!("/n_items:{count}"),
            ],
            function: "sort",
            workers: 2,
            callbacks: false,
            request: number(count),
            answer: number(checksum(count)),
            loads: false,
        });
    }
    made
}

/// The answer that `sort` must give.
fn checksum(count: u64) -> u64 {
    let mut state: u32 = 1;
    let mut items: Vec<u32> = (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        })
        .collect();
    items.sort_unstable();
    items.iter().fold(0, |sum: u64, item| {
        sum.wrapping_mul(31).wrapping_add(u64::from(*item))
    })
}

impl Benchmark {
    fn run(&self, runtime: &Runtime, file: &Path, least: Duration) -> Result<Timed> {
        let bytes = fs::read(file).with_context(|| file.display().to_string())?;
        let load = || {
            let settings = Settings {
                workers: self.workers,
                callbacks: self.callbacks,
                ..Settings::default()
            };
            let binary = Binary::new(bytes.clone()).map_err(|why| anyhow!(why))?;
            runtime
                .load(UDF, binary, settings)
                .map_err(|why| anyhow!(why))
        };
        let caller = Arc::new(Caller::new(None)?);
        let call = || {
            let served = runtime.call(UDF, &self.request, &caller, None);
            let answer = served
                .outcome
                .as_ref()
                .map_err(|failure| anyhow!("{failure}"))?;
            ensure!(*answer == self.answer, "a wrong answer");
            Ok(())
        };
        let unload = || {
            runtime.unload(UDF);
            Ok(())
        };
        if self.loads {
            return timed(least, load, || call().and_then(|()| unload()));
        }
        load()?;
        // The first call is not timed: what it takes is in memory then.
        let done = call().and_then(|()| timed(least, call, || Ok(())));
        unload()?;
        done
    }
}

/// Does `what` until that has taken long enough, each time followed by `then`, which is not timed.
fn timed(
    least: Duration,
    what: impl Fn() -> Result<()>,
    then: impl Fn() -> Result<()>,
) -> Result<Timed> {
    let mut sum = Timed {
        iterations: 0,
        real: Duration::ZERO,
        cpu: Duration::ZERO,
    };
    while sum.iterations == 0 || sum.real < least {
        let (begun, used) = (Instant::now(), own_cpu());
        what()?;
        sum.real += begun.elapsed();
        sum.cpu += own_cpu() - used;
        sum.iterations += 1;
        then()?;
    }
    Ok(sum)
}

/// CPU time of this thread, the caller.
fn own_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The description of the machine, as Google Benchmark gives it.
fn context() -> Value {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let mhz = cpu.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "cpu MHz").then(|| value.trim().parse::<f64>().ok())?
    });
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let load = read("/proc/loadavg");
    let load: Vec<f64> = load
        .split_whitespace()
        .take(3)
        .filter_map(|each| each.parse().ok())
        .collect();
    json!({
        "date": humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        "host_name": read("/proc/sys/kernel/hostname").trim(),
        "executable": format!("tare-sandbox {}", env!("CARGO_PKG_VERSION")),
        "num_cpus": std::thread::available_parallelism().map_or(1, usize::from),
        "mhz_per_cpu": mhz.unwrap_or_default().round(),
        "cpu_scaling_enabled": !matches!(governor.trim(), "" | "performance"),
        "caches": [],
        "load_avg": load,
        "library_build_type": if cfg!(debug_assertions) { "debug" } else { "release" },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sorts_checksum_is_what_the_experiment_expects() {
        // tests/contract/sandbox/test_sandbox_calls.py computes the same in another way.
        assert_eq!(checksum(1), 270_369);
        assert_eq!(checksum(2), 270_369 * 31 + 67_634_689);
    }
}
