//! Workers that are processes, made by a mode's recipe.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::launch::Launcher;
use super::recipe::Recipe;
use super::verify::Evidence;
use super::worker::Process;
use crate::binary::Binary;
use crate::descriptors::moved_up;
use crate::limits::Limits;
use crate::mode::{Nursery, Template, Worker};
use crate::shared;
use crate::slot::Slot;

/// How a mode confines processes.
pub trait Confinement: Send + Sync {
    /// The evidence that must be seen of each worker from outside.
    fn evidence(&self) -> Evidence;

    /// Namespaces that each worker gets anew: flags of clone.
    fn flags(&self) -> i32;

    /// Confines the thread that will start workers.
    ///
    /// # Errors
    ///
    /// What could not be set up, in words.
    fn settle(&self) -> Result<(), String>;

    /// Write down what a worker does to itself between its limits and its binary.
    ///
    /// # Errors
    ///
    /// What could not be set up, in words.
    fn confine(&self, recipe: &mut Recipe, slot: &Slot) -> Result<(), String>;

    /// Writes down what a worker does once it has its descriptors, from its limits to its binary.
    ///
    /// # Errors
    ///
    /// What could not be set up, in words.
    fn write(&self, recipe: &mut Recipe, slot: &Slot, limits: &Limits) -> Result<(), String> {
        recipe.limit(limits);
        self.confine(recipe, slot)?;
        recipe.execute(shared::offer(limits));
        Ok(())
    }

    /// Return whether the process that is started is another program's, which runs the binary below it.
    fn supervised(&self) -> bool {
        false
    }

    /// The process that is to be looked at, when `pid` is the one that was started.
    fn witness(&self, pid: i32) -> i32 {
        pid
    }

    /// Makes what one worker needs outside of itself.
    ///
    /// # Errors
    ///
    /// What could not be made, in words.
    fn furnish(&self, _slot: &Slot) -> Result<(), String> {
        Ok(())
    }

    /// Takes away what [`Confinement::furnish`] made.
    fn clear(&self, _slot: &Slot) {}
}

/// A binary and how its processes are confined.
pub struct Confined<C> {
    confinement: Arc<C>,
    binary: Arc<Binary>,
    limits: Limits,
}

impl<C: Confinement + 'static> Confined<C> {
    /// Workers of `binary` within `limits`.
    pub fn new(confinement: C, binary: Arc<Binary>, limits: &Limits) -> Self {
        Confined {
            confinement: Arc::new(confinement),
            binary,
            limits: limits.clone(),
        }
    }
}

impl<C: Confinement + 'static> Template for Confined<C> {
    fn settle(&self) -> Result<Box<dyn Nursery>, String> {
        block_signals();
        self.confinement.settle()?;
        Ok(Box::new(Cradle {
            confinement: self.confinement.clone(),
            binary: self.binary.clone(),
            limits: self.limits.clone(),
            launcher: Launcher::default(),
            recipes: HashMap::new(),
        }))
    }

    fn verify(&self, worker: &dyn Worker) -> Result<(), String> {
        worker.pid().map_or(Ok(()), |pid| {
            let seen = self.confinement.witness(pid);
            self.confinement.evidence().check(seen)
        })
    }
}

struct Cradle<C> {
    confinement: Arc<C>,
    binary: Arc<Binary>,
    limits: Limits,
    launcher: Launcher,
    recipes: HashMap<u32, Recipe>,
}

impl<C: Confinement> Cradle<C> {
    fn recipe(&self, slot: &Slot) -> Result<Recipe, String> {
        let mut recipe = Recipe::default();
        recipe.begin(slot, self.binary.file().as_raw_fd());
        self.confinement.write(&mut recipe, slot, &self.limits)?;
        Ok(recipe)
    }
}

impl<C: Confinement> Nursery for Cradle<C> {
    fn spawn(&mut self, slot: &Slot) -> Result<Box<dyn Worker>, String> {
        if !self.recipes.contains_key(&slot.number) {
            self.recipes.insert(slot.number, self.recipe(slot)?);
        }
        let pair = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let (host, guest) = pair.map_err(|error| format!("a pair of sockets: {error}"))?;
        let guest = moved_up(guest).map_err(|error| format!("a pair of sockets: {error}"))?;
        let log = slot.line()?;
        slot.reset()?;
        self.confinement.furnish(slot)?;
        let launched = self.launcher.launch(
            &self.recipes[&slot.number],
            self.confinement.flags(),
            guest.as_fd(),
            log.as_ref().map(AsFd::as_fd),
        );
        match launched {
            Ok(launched) => Ok(Box::new(Process::new(
                launched,
                host,
                slot.group.clone(),
                &self.limits,
                self.confinement.supervised(),
            ))),
            Err(why) => {
                self.confinement.clear(slot);
                Err(why)
            }
        }
    }

    fn clear(&mut self, slot: &Slot) {
        self.confinement.clear(slot);
    }
}

/// Signals for the host must not run its handlers in a new process that still shares its memory.
pub fn block_signals() {
    // SAFETY: the set is filled before it is read.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}
