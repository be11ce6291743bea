//! Namespaces made once and shared by the workers of one keeper, one of processes for each worker,
//! an empty read-only root, few system calls, no capability, a user of its own for each worker.

use std::sync::Arc;

use super::requirements::{only_root, only_static};
use super::root;
use crate::binary::Binary;
use crate::limits::Limits;
use crate::mode::{Mode, Promise, Template};
use crate::process::filter;
use crate::process::recipe::Recipe;
use crate::process::spawner::{Confined, Confinement};
use crate::process::verify::Evidence;
use crate::slot::Slot;

/// The mode.
pub struct Namespaces;

const NAME: &str = "namespaces";

impl Mode for Namespaces {
    fn name(&self) -> &'static str {
        NAME
    }

    fn promise(&self) -> Promise {
        Promise::Apart
    }

    fn summary(&self) -> &'static str {
        "namespaces of its own with nothing in them, a filter of system calls, no capability, a user of its own"
    }

    fn accept(&self, binary: &Binary, _: &Limits) -> Result<(), String> {
        only_static(NAME, binary)
    }

    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String> {
        only_root(NAME)?;
        let filter = filter::inherited(limits.shared)?;
        Ok(Arc::new(Confined::new(Apart { filter }, binary, limits)))
    }
}

struct Apart {
    filter: seccompiler::BpfProgram,
}

impl Confinement for Apart {
    fn evidence(&self) -> Evidence {
        Evidence {
            filtered: true,
            no_capabilities: true,
            other_user: true,
            namespaces: &["mnt", "net", "ipc", "uts", "cgroup", "pid"],
        }
    }

    fn flags(&self) -> i32 {
        libc::CLONE_NEWPID
    }

    fn settle(&self) -> Result<(), String> {
        let shared =
            libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        root::leave(shared | libc::CLONE_NEWCGROUP)?;
        root::become_empty()?;
        root::read_only()?;
        root::drop_bounding_set()?;
        filter::take_on(&self.filter)
    }

    fn confine(&self, recipe: &mut Recipe, slot: &Slot) -> Result<(), String> {
        recipe.become_user(slot.user());
        Ok(())
    }
}
