//! A virtual machine for each worker, without a kernel in it: the guest is the binary itself, in ring
//! 3. Its system calls come to a *monitor*, the process around it, which serves a few. Before each
//! call the machine is brought back to where its binary first wanted a request, so that it is made
//! once and used often.

pub mod areas;
pub mod channel;
mod confine;
pub mod elf;
mod machine;
pub mod memory;
pub mod monitor;
mod snapshot;
mod spawner;
mod stack;
pub mod syscalls;
mod tables;
mod toucher;
mod vm;
pub mod wire;
mod worker;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use super::requirements::{beside, only_root, only_static};
use crate::binary::Binary;
use crate::limits::Limits;
use crate::mode::{Mode, Promise, Template};

pub use self::machine::{load, room};

/// The mode.
pub struct Kvm;

const NAME: &str = "kvm";
const MONITOR: &str = "tare-sandbox-monitor";

impl Mode for Kvm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn promise(&self) -> Promise {
        Promise::Apart
    }

    fn summary(&self) -> &'static str {
        "a virtual machine without a kernel, whose few system calls a confined process serves"
    }

    /// A monitor, which stays, serves the guest's streams.
    fn has_logs(&self) -> bool {
        false
    }

    fn accept(&self, binary: &Binary, limits: &Limits) -> Result<(), String> {
        only_static(NAME, binary)?;
        if limits.shared {
            return Err(
                "mode kvm shares no memory with its guests, whose own is all that they can reach; load it \
                 without --shared"
                    .into(),
            );
        }
        elf::Image::read(binary.bytes()?, room(limits.memory_bytes)).map(drop)
    }

    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String> {
        only_root(NAME)?;
        let open = |path: PathBuf, write: bool| {
            let opened = File::options().read(true).write(write).open(&path);
            opened.map_err(|error| format!("{}: {error}", path.display()))
        };
        let kvm = open("/dev/kvm".into(), true).map_err(|why| {
            format!("{why}; it needs a kernel with KVM, and a machine that lets its guests use it")
        })?;
        let monitor = open(beside(MONITOR)?, false)?;
        Ok(Arc::new(spawner::KvmTemplate {
            binary,
            limits: limits.clone(),
            kvm: kvm.into(),
            monitor: crate::descriptors::moved_up(monitor.into())
                .map_err(|error| error.to_string())?,
        }))
    }
}
