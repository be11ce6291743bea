//! gVisor as the original runs it: one sandbox around all workers of a binary, each of which is cloned and
//! isolated inside by the original's steps. What one worker does to gVisor's kernel, the others feel.

mod inmate;
pub mod nursery;
mod report;
mod sandbox;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use self::inmate::Inmate;
use self::sandbox::{LINE, NURSERY, ROOTS, Sandbox};
use super::super::requirements::{beside, only_root, only_static};
use super::super::roma::SHOWN;
use super::tool::Tool;
use super::{Gvisor, find, own_files, root_folder};
use crate::binary::Binary;
use crate::limits::Limits;
use crate::mode::{Mode, Promise, Spawner, Template, Worker};
use crate::process::spawner::block_signals;
use crate::slot::Slot;

/// The mode.
pub struct GvisorShared;

const NAME: &str = "gvisor-shared";

/// The first process's program, beside this one.
const PROGRAM: &str = "tare-sandbox-nursery";

impl Mode for GvisorShared {
    fn name(&self) -> &'static str {
        NAME
    }

    fn promise(&self) -> Promise {
        Promise::ReferenceOnly
    }

    fn summary(&self) -> &'static str {
        "gVisor: one sandbox around all workers of a binary, cloned inside as the original does it"
    }

    /// One, which has the sandbox.
    fn keepers(&self, _: usize, _: usize) -> usize {
        1
    }

    /// They are processes of gVisor's kernel.
    fn has_processes(&self) -> bool {
        false
    }

    fn has_logs(&self) -> bool {
        false
    }

    fn accept(&self, binary: &Binary, limits: &Limits) -> Result<(), String> {
        only_static(NAME, binary)?;
        if limits.shared {
            return Err(format!(
                "mode {NAME} shares no memory with what is in its sandbox; load it without --shared"
            ));
        }
        Ok(())
    }

    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String> {
        only_root(NAME)?;
        Ok(Arc::new(Around {
            program: find::<Gvisor>()?,
            nursery: fs::read(beside(PROGRAM)?).map_err(|error| format!("{PROGRAM}: {error}"))?,
            binary,
            limits: limits.clone(),
        }))
    }
}

struct Around {
    program: String,
    nursery: Vec<u8>,
    binary: Arc<Binary>,
    limits: Limits,
}

impl Template for Around {
    fn settle(&self, workers: usize) -> Result<Box<dyn Spawner>, String> {
        block_signals();
        own_files(&self.binary)?;
        self.write_files()
            .map_err(|error| format!("files of its own: {error}"))?;
        Ok(Box::new(AroundSpawner {
            program: self.program.clone(),
            binary: self.binary.clone(),
            limits: self.limits.clone(),
            workers,
            sandbox: None,
        }))
    }

    /// The first process of the sandbox has looked at the worker, and who starts the sandbox at that.
    fn verify(&self, _: Option<i32>) -> Result<(), String> {
        Ok(())
    }
}

impl Around {
    /// Write the files of the sandbox's root besides the binary.
    fn write_files(&self) -> std::io::Result<()> {
        let root = root_folder();
        let inside = |path: &str| root.join(path.trim_start_matches('/'));
        for name in SHOWN.iter().copied().chain([ROOTS, LINE]) {
            fs::create_dir(inside(name))?;
        }
        fs::write(inside(NURSERY), &self.nursery)?;
        fs::set_permissions(inside(NURSERY), fs::Permissions::from_mode(0o555))
    }
}

struct AroundSpawner {
    program: String,
    binary: Arc<Binary>,
    limits: Limits,
    workers: usize,
    sandbox: Option<Sandbox>,
}

impl Spawner for AroundSpawner {
    fn spawn(&mut self, slot: &Slot) -> Result<Box<dyn Worker>, String> {
        let (sandbox, is_new) = match self.sandbox.take() {
            Some(sandbox) => (sandbox, false),
            None => {
                let (binary, limits) = (&self.binary, &self.limits);
                let started = Sandbox::start(&self.program, binary, limits, self.workers)?;
                (started, true)
            }
        };
        let (life, socket) = sandbox.admit(slot.number)?;
        if is_new {
            let kernel = Gvisor.examined(sandbox.pid());
            Gvisor.evidence().check(kernel)?;
        }
        self.sandbox = Some(sandbox);
        Ok(Box::new(Inmate::new(life, socket, &self.limits)))
    }
}
