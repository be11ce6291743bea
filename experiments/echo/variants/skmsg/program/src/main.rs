//! Reads and writes like the baseline, but what is written skips TCP and lands in the other end's
//! queue at once. Both ends must be on this machine, and both are changed: a client's too.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use echo_server::copy::Copy;
use echo_server::log;
use echo_server::readiness::{self, Trigger};
use echo_server::{Moved, Options, privileges, serve};
use libbpf_rs::{Link, MapCore, MapHandle, Object, ObjectBuilder};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/skmsg.bpf.o"));

/// An echo server and relay for clients on the same machine.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: Options,
    /// Bytes that a peer of the server may have unread; if there are more, the connection is closed.
    /// The server itself may have twice as many.
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20)]
    most_bytes: u64,
    /// Messages that a peer of the server may have unread; the server itself twice as many.
    #[arg(long, value_name = "COUNT", default_value_t = 8192,
          value_parser = clap::value_parser!(u32).range(2..=1 << 20))]
    most_messages: u32,
}

impl Cli {
    /// The variable `settings` of skmsg.bpf.c.
    fn settings(&self) -> Vec<u8> {
        let backend = self.options.upstream().map_or(0, |backend| backend.port());
        [
            &self.most_bytes.to_ne_bytes()[..],
            &self.most_messages.to_ne_bytes(),
            &u32::from(self.options.listen.port()).to_ne_bytes(),
            &u32::from(backend).to_ne_bytes(),
            &[0; 4], // the end of a structure that is aligned to eight bytes
        ]
        .concat()
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let _bypass = match Bypass::set_up(&cli) {
        Ok(bypass) => bypass,
        Err(error) => {
            log::line(format_args!("skmsg: {error:#}"));
            return ExitCode::FAILURE;
        }
    };
    serve(
        "skmsg",
        &cli.options,
        |thread| readiness::work(thread, Copy::new(), Trigger::Level),
        || Ok(Moved::default()),
    )
}

/// The programs, which see every connection of the machine for as long as this lives.
struct Bypass {
    _object: Object,
    _link: Link,
}

impl Bypass {
    fn set_up(cli: &Cli) -> Result<Self> {
        privileges::ensure_bpf()?;
        ensure!(
            cli.options.listen.is_ipv4(),
            "--listen: an IPv4 address, which the programs know"
        );
        let cgroup = whole_machine()?;
        // ELF is read in place and wants to be aligned.
        let bytes = OBJECT.to_vec();
        let mut open = ObjectBuilder::default()
            .open_memory(&bytes)
            .context("the BPF object")?;
        open.maps_mut()
            .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
            .context("the BPF object has no constants")?
            .set_initial_value(&cli.settings())
            .context("settings")?;
        let object = open
            .load()
            .context("the kernel does not take the BPF programs")?;
        let ends = object
            .maps()
            .find(|map| map.name() == "ends")
            .context("no map of ends")?;
        let ends = MapHandle::try_from(&ends)?;
        let mut link = None;
        for program in object.progs_mut() {
            match program.name().to_string_lossy().as_ref() {
                "message" => program.attach_sockmap(ends.as_fd().as_raw_fd())?,
                _ => link = Some(program.attach_cgroup(cgroup.as_raw_fd())?),
            }
        }
        let _link = link.context("the BPF object has no program for connections")?;
        Ok(Self {
            _object: object,
            _link,
        })
    }
}

/// The root of the second version's control groups, in which every process is.
fn whole_machine() -> Result<File> {
    let mounts = fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?;
    let folder = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .find(|fields| fields.get(2) == Some(&"cgroup2"))
        .and_then(|fields| fields.get(1).copied())
        .context(
            "no cgroup2 file system is mounted, at which connections could be seen; \
             mount -t cgroup2 none /sys/fs/cgroup/unified",
        )?;
    File::open(folder).with_context(|| folder.to_owned())
}
