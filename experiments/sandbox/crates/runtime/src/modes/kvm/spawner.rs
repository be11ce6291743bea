//! Starts monitors and runs of their guests. A monitor stays in its slot until it fails.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::wire::{Order, send};
use super::worker::{Monitor, Visit};
use crate::binary::Binary;
use crate::descriptors::moved_up;
use crate::limits::Limits;
use crate::lock::lock;
use crate::mode::{Spawner, Template, Worker};
use crate::packet;
use crate::process::launch::Vfork;
use crate::process::recipe::Recipe;
use crate::process::spawner::block_signals;
use crate::process::verify::Evidence;
use crate::slot::Slot;

/// Files that a monitor has open at once.
const FILES: u32 = 32;

/// The template from which monitors of one binary are made.
pub struct KvmTemplate {
    pub(super) binary: Arc<Binary>,
    pub(super) limits: Limits,
    pub(super) kvm: OwnedFd,
    pub(super) monitor: OwnedFd,
}

impl Template for KvmTemplate {
    fn settle(&self, _: usize) -> Result<Box<dyn Spawner>, String> {
        block_signals();
        let copy = |descriptor: &OwnedFd| descriptor.try_clone().map_err(|error| error.to_string());
        Ok(Box::new(MonitorSpawner {
            binary: self.binary.clone(),
            limits: self.limits.clone(),
            kvm: copy(&self.kvm)?,
            monitor: copy(&self.monitor)
                .and_then(|copy| moved_up(copy).map_err(|error| error.to_string()))?,
            vfork: Vfork::default(),
            recipes: HashMap::new(),
            resting: HashMap::new(),
        }))
    }

    fn verify(&self, pid: Option<i32>) -> Result<(), String> {
        let evidence = Evidence {
            filtered: true,
            no_capabilities: true,
            other_user: true,
            namespaces: &[],
        };
        pid.map_or(Ok(()), |pid| evidence.check(pid))
    }
}

struct MonitorSpawner {
    binary: Arc<Binary>,
    limits: Limits,
    kvm: OwnedFd,
    monitor: OwnedFd,
    vfork: Vfork,
    recipes: HashMap<u32, Recipe>,
    /// Monitors between two runs.
    resting: HashMap<u32, Arc<Mutex<Option<Monitor>>>>,
}

impl MonitorSpawner {
    fn recipe(&self, slot: &Slot) -> Recipe {
        let mut recipe = Recipe::default();
        recipe.begin(slot, self.monitor.as_raw_fd());
        // Its own: the guest's files are not the kernel's, and CPU time is limited for each run.
        recipe.limit(&Limits {
            cpu_s: u32::MAX,
            files: FILES,
            ..self.limits.clone()
        });
        recipe.become_user(slot.user());
        recipe.execute(&[]);
        recipe
    }

    fn launch(&mut self, slot: &Slot) -> Result<Monitor, String> {
        if !self.recipes.contains_key(&slot.number) {
            self.recipes.insert(slot.number, self.recipe(slot));
        }
        let (here, there) = packet::pair().map_err(no_pair)?;
        let there = moved_up(there).map_err(no_pair)?;
        let launched = self
            .vfork
            .launch(&self.recipes[&slot.number], 0, there.as_fd(), None)?;
        let monitor = Monitor::new(launched, here)?;
        let make = Order::Make {
            memory: self.limits.memory_bytes,
            cpu_s: self.limits.cpu_s.into(),
        };
        let beside = [self.kvm.as_fd(), self.binary.file()];
        send(monitor.control(), &make, &beside).map_err(|error| format!("the monitor: {error}"))?;
        Ok(monitor)
    }
}

impl Spawner for MonitorSpawner {
    fn spawn(&mut self, slot: &Slot) -> Result<Box<dyn Worker>, String> {
        let place = self.resting.entry(slot.number).or_default().clone();
        let rested = lock(&place).take();
        let mut monitor = match rested {
            Some(monitor) => monitor,
            None => self.launch(slot)?,
        };
        let (host, guest) = pair()?;
        monitor.begin(guest.as_fd())?;
        Ok(Box::new(Visit::new(
            monitor,
            host,
            slot.group.clone(),
            place,
        )))
    }

    fn resident(&self, slot: &Slot) -> Option<i32> {
        let place = lock(self.resting.get(&slot.number)?);
        place.as_ref().map(Monitor::pid)
    }
}

/// Make the pair of sockets of a guest.
fn pair() -> Result<(OwnedFd, OwnedFd), String> {
    let kind = SocketType::STREAM;
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).map_err(no_pair)
}

fn no_pair(error: Errno) -> String {
    format!("a pair of sockets: {error}")
}
