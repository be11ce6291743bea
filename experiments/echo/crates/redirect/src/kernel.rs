//! The BPF programs and maps of one thread.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use echo_server::{Moved, Shape, privileges};
use libbpf_rs::libbpf_sys;
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder, PrintLevel, set_print};

/// Limits on a connection's memory in the kernel, which nothing else bounds or charges.
#[derive(Args, Clone, Debug)]
pub struct Limits {
    /// Bytes that a connection may have in flight, received and not yet acknowledged by whom they
    /// are for; one that has more is reset.
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20)]
    pub most_bytes: u64,
    /// Buffers that a connection may have queued; one that has more is reset.
    #[arg(long, value_name = "COUNT", default_value_t = 8192)]
    pub most_buffers: u32,
}

impl Limits {
    /// The variable `limits` of redirect.bpf.h.
    fn encode(&self, shape: Shape) -> Vec<u8> {
        let relay = u32::from(shape == Shape::Relay);
        let (bytes, skbs) = (
            self.most_bytes.to_ne_bytes(),
            self.most_buffers.to_ne_bytes(),
        );
        [&bytes[..], &skbs[..], &relay.to_ne_bytes()[..]].concat()
    }
}

/// Loaded programs and their maps. Dropping it unloads them.
#[derive(Debug)]
pub struct Kernel {
    _object: Object,
    sources: MapHandle,
    targets: MapHandle,
    condemned: MapHandle,
    /// Cookies of sockets that went over a limit.
    pub events: MapHandle,
    counters: MapHandle,
}

impl Kernel {
    /// Load `object`, and attaches all its programs to the map of sources.
    pub fn load(object: &[u8], limits: &Limits, shape: Shape) -> Result<Self> {
        privileges::ensure_bpf()?;
        set_print(Some((PrintLevel::Warn, |_, line| eprint!("{line}"))));
        // ELF is read in place and wants to be aligned.
        let object = object.to_vec();
        let mut open = ObjectBuilder::default()
            .open_memory(&object)
            .context("the BPF object")?;
        let mut constants = open
            .maps_mut()
            .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
            .context("the BPF object has no constants")?;
        constants
            .set_initial_value(&limits.encode(shape))
            .context("limits")?;
        let loaded = open
            .load()
            .context("the kernel does not take the BPF programs; it must be 5.11 or newer")?;
        let kernel = Self {
            sources: map(&loaded, "sources")?,
            targets: map(&loaded, "targets")?,
            condemned: map(&loaded, "condemned")?,
            events: map(&loaded, "events")?,
            counters: map(&loaded, "counters")?,
            _object: {
                let sources = map(&loaded, "sources")?;
                for program in loaded.progs_mut() {
                    program
                        .attach_sockmap(sources.as_fd().as_raw_fd())
                        .with_context(|| {
                            format!(
                                "the kernel does not attach {}",
                                program.name().to_string_lossy()
                            )
                        })?;
                }
                loaded
            },
        };
        Ok(kernel)
    }

    /// The bytes of the socket of this cookie are to go to `target`. False when a peer has ended
    /// its stream already.
    pub fn add_target(&self, cookie: u64, target: BorrowedFd<'_>) -> Result<bool> {
        put(&self.targets, cookie, target)
    }

    /// From now on the programs see the bytes of `source`. False as for `add_target`.
    pub fn add_source(&self, cookie: u64, source: BorrowedFd<'_>) -> Result<bool> {
        put(&self.sources, cookie, source)
    }

    /// A condemned socket is closed; its mark goes.
    pub fn forget(&self, cookie: u64) {
        // Nothing is left to be removed when the mark could not be made.
        let _ = self.condemned.delete(&cookie.to_ne_bytes());
    }

    /// Read the counters from any thread.
    pub fn reader(&self) -> Result<Reader> {
        Ok(Reader(MapHandle::try_from(&self.counters)?))
    }
}

/// The counters of one thread's programs.
#[derive(Debug)]
pub struct Reader(MapHandle);

impl Reader {
    /// The sum over all CPUs.
    pub fn read(&self) -> Result<Moved> {
        let by_cpu = self.0.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)?;
        let mut sum = Moved::default();
        for value in by_cpu.context("the map of counters is empty")? {
            let word = |index: usize| {
                let bytes = value.get(index * 8..index * 8 + 8).unwrap_or(&[0; 8]);
                u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
            };
            sum.bytes += word(0);
            sum.messages += word(1);
        }
        Ok(sum)
    }
}

fn put(map: &MapHandle, cookie: u64, socket: BorrowedFd<'_>) -> Result<bool> {
    let (key, value) = (cookie.to_ne_bytes(), socket.as_raw_fd().to_ne_bytes());
    // libbpf-rs does not keep the error number, which tells a closing socket from a full map.
    // SAFETY: the map's keys and values have these sizes, and both pointers outlive the call.
    let error = unsafe {
        let (key, value) = (key.as_ptr().cast(), value.as_ptr().cast());
        libbpf_sys::bpf_map_update_elem(
            map.as_fd().as_raw_fd(),
            key,
            value,
            libbpf_sys::BPF_ANY.into(),
        )
    };
    match -error {
        0 => Ok(true),
        libc::EOPNOTSUPP => Ok(false),
        number => {
            let why = std::io::Error::from_raw_os_error(number);
            Err(why).with_context(|| format!("map {}", map.name().to_string_lossy()))
        }
    }
}

fn map(object: &Object, name: &str) -> Result<MapHandle> {
    let found = object.maps().find(|map| map.name() == name);
    let found = found.ok_or_else(|| anyhow!("the BPF object has no map {name:?}"))?;
    Ok(MapHandle::try_from(&found)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_the_layout_of_the_program_s_constants() {
        let limits = Limits {
            most_bytes: 1 << 33,
            most_buffers: 7,
        };
        for (shape, relay) in [(Shape::Echo, 0u32), (Shape::Relay, 1)] {
            let found = limits.encode(shape);
            assert_eq!(found.len(), 16);
            assert_eq!(found[..8], (1u64 << 33).to_ne_bytes());
            assert_eq!(found[8..12], 7u32.to_ne_bytes());
            assert_eq!(found[12..], relay.to_ne_bytes());
        }
    }
}
