//! Workers that are processes, made by a mode's recipe.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::launch::Vfork;
use super::recipe::Recipe;
use super::rehearsal::{Outcome, rehearse};
use super::verify::Evidence;
use super::worker::Process;
use crate::binary::Binary;
use crate::descriptors::moved_up;
use crate::limits::Limits;
use crate::mode::{Spawner, Template, Worker};
use crate::shared;
use crate::slot::Slot;

/// A mode's way of confining processes.
pub trait Confinement: Send + Sync {
    /// Return the evidence that each worker must show from outside.
    fn evidence(&self) -> Evidence;

    /// Return the new namespaces of each worker: flags of clone.
    fn flags(&self) -> i32;

    /// Confine the thread that will start workers.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    fn settle(&self) -> Result<(), String>;

    /// Record the steps that a worker takes between its limits and its binary.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    fn confine(&self, recipe: &mut Recipe, slot: &Slot) -> Result<(), String>;

    /// Record the steps that a worker takes once it has its descriptors, from its limits to its
    /// binary.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    fn write(&self, recipe: &mut Recipe, slot: &Slot, limits: &Limits) -> Result<(), String> {
        recipe.limit(limits);
        self.confine(recipe, slot)?;
        recipe.execute(shared::offer(limits));
        Ok(())
    }

    /// Return the name of the other program whose process is started, if any. It runs the binary below it.
    fn starter(&self) -> Option<&'static str> {
        None
    }

    /// Record the steps of a worker whose binary is [`crate::trial::binary`], if another program starts it.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    fn write_trial(&self, _recipe: &mut Recipe, _slot: &Slot, _: &Limits) -> Result<(), String> {
        Ok(())
    }

    /// Return the process to examine when `pid` is the started one.
    fn examined(&self, pid: i32) -> i32 {
        pid
    }

    /// Make the parts of one worker that lie outside of it.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    fn prepare_slot(&self, _slot: &Slot) -> Result<(), String> {
        Ok(())
    }

    /// Remove what [`Confinement::prepare_slot`] made.
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
    fn settle(&self, _: usize) -> Result<Box<dyn Spawner>, String> {
        block_signals();
        self.confinement.settle()?;
        Ok(Box::new(ProcessSpawner {
            confinement: self.confinement.clone(),
            binary: self.binary.clone(),
            limits: self.limits.clone(),
            vfork: Vfork::default(),
            recipes: HashMap::new(),
        }))
    }

    fn verify(&self, pid: Option<i32>) -> Result<(), String> {
        pid.map_or(Ok(()), |pid| {
            let seen = self.confinement.examined(pid);
            self.confinement.evidence().check(seen)
        })
    }
}

struct ProcessSpawner<C> {
    confinement: Arc<C>,
    binary: Arc<Binary>,
    limits: Limits,
    vfork: Vfork,
    recipes: HashMap<u32, Recipe>,
}

impl<C: Confinement> ProcessSpawner<C> {
    fn recipe(&self, slot: &Slot) -> Result<Recipe, String> {
        let mut recipe = Recipe::default();
        recipe.begin(slot, self.binary.file().as_raw_fd());
        self.confinement.write(&mut recipe, slot, &self.limits)?;
        Ok(recipe)
    }

    /// Start the starter with a binary that says nothing, and see what comes of it.
    fn rehearse(&mut self, slot: &Slot) -> Result<Outcome, String> {
        let mut recipe = Recipe::default();
        recipe.begin_logged(slot, self.binary.file().as_raw_fd(), true);
        self.confinement
            .write_trial(&mut recipe, slot, &self.limits)?;
        slot.reset()?;
        self.confinement.prepare_slot(slot)?;
        let (flags, patience) = (self.confinement.flags(), self.limits.start / 2);
        let outcome = rehearse(&mut self.vfork, &recipe, flags, patience);
        self.confinement.clear(slot);
        // The next worker's steps are recorded anew: files that they name may be the trial's now.
        self.recipes.remove(&slot.number);
        outcome
    }
}

impl<C: Confinement> Spawner for ProcessSpawner<C> {
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
        self.confinement.prepare_slot(slot)?;
        let launched = self.vfork.launch(
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
                self.confinement.starter().is_some(),
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

    fn has_starter(&self) -> bool {
        self.confinement.starter().is_some()
    }

    fn try_starter(&mut self, slot: &Slot) -> Option<String> {
        let name = self.confinement.starter()?;
        match self.rehearse(slot) {
            Ok(Outcome::Starts) => Some(format!("{name} starts another binary")),
            Ok(Outcome::Ends(how, words)) if words.is_empty() => {
                Some(format!("{name} fails with any binary: {how}"))
            }
            Ok(Outcome::Ends(_, words)) => {
                Some(format!("{name} fails with any binary, and says: {words}"))
            }
            Ok(Outcome::Open) | Err(_) => None,
        }
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
