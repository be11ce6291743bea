//! CPU time from the scheduler's and the softirqs' tracepoints.

use anyhow::{Context, Result};
use echo_server::log;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder};

use crate::cost;
use crate::report::{Reading, Source, Usage};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/usage.bpf.o"));
const KERNEL_THREADS: u32 = 0xffff_fffe;
const SOFTIRQ: u32 = 0xffff_ffff;

/// The attached programs.
#[derive(Debug)]
pub struct Programs {
    _object: Object,
    _links: Vec<Link>,
    used: MapHandle,
    cpus: MapHandle,
    event_ns: f64,
}

impl Programs {
    /// Load and attach the programs, and measure the cost of one event.
    pub fn load() -> Result<Self> {
        // libbpf reads ELF in place, so it must be aligned.
        let bytes = OBJECT.to_vec();
        let open = ObjectBuilder::default()
            .open_memory(&bytes)
            .context("the BPF object")?;
        let object = open.load().context("the kernel refuses the BPF programs")?;
        let handle = |name: &str| -> Result<MapHandle> {
            let found = object.maps().find(|map| map.name() == name);
            Ok(MapHandle::try_from(
                &found.with_context(|| format!("no map {name}"))?,
            )?)
        };
        let (used, cpus) = (handle("used")?, handle("cpus")?);
        let mut links = Vec::new();
        for program in object.progs_mut() {
            links.push(
                program
                    .attach()
                    .context("the kernel does not attach a BPF program")?,
            );
        }
        let event_ns = cost::of_an_event(&object)?;
        log::line(format_args!(
            "the BPF programs take {event_ns:.0} ns per event"
        ));
        Ok(Self {
            _object: object,
            _links: links,
            used,
            cpus,
            event_ns,
        })
    }

    fn usage(&self, key: &[u8]) -> Result<Usage> {
        let words = sums(&self.used, key)?;
        Ok(Usage {
            ns: words[0],
            switches: words[1],
        })
    }
}

impl Source for Programs {
    fn name(&self) -> &'static str {
        "bpf"
    }

    fn read(&mut self) -> Result<Reading> {
        let mut reading = Reading::default();
        let keys: Vec<Vec<u8>> = self.used.keys().collect();
        for key in keys {
            let usage = self.usage(&key)?;
            match u32::from_ne_bytes(key[..4].try_into().context("a key of four bytes")?) {
                KERNEL_THREADS => reading.kernel_threads = usage,
                SOFTIRQ => reading.softirq = usage,
                process => reading.processes.push((process, usage)),
            }
        }
        let [_, events] = sums(&self.cpus, &0u32.to_ne_bytes())?;
        reading.overhead_ns = (events as f64 * self.event_ns) as u64;
        Ok(reading)
    }
}

/// Sum the two words of a value over all CPUs. The sums of a removed entry are 0.
fn sums(map: &MapHandle, key: &[u8]) -> Result<[u64; 2]> {
    let mut sum = [0; 2];
    for value in map.lookup_percpu(key, MapFlags::ANY)?.unwrap_or_default() {
        for (word, total) in value.chunks_exact(8).zip(&mut sum) {
            *total += u64::from_ne_bytes(word.try_into().context("eight bytes")?);
        }
    }
    Ok(sum)
}
