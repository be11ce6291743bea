//! A user and a namespace of processes of its own for each worker, no file by Landlock, and few system
//! calls by seccomp. The thread that starts workers takes both on once; workers inherit them.

use std::sync::Arc;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus,
    Scope,
};

use super::requirements::{only_root, only_static};
use crate::binary::Binary;
use crate::limits::Limits;
use crate::mode::{Mode, Promise, Template};
use crate::process::filter;
use crate::process::recipe::Recipe;
use crate::process::spawner::{Confined, Confinement};
use crate::process::verify::Evidence;
use crate::slot::Slot;

/// The mode.
pub struct Landlock;

const NAME: &str = "landlock";

impl Mode for Landlock {
    fn name(&self) -> &'static str {
        NAME
    }

    fn promise(&self) -> Promise {
        Promise::Apart
    }

    fn summary(&self) -> &'static str {
        "Landlock, a filter of system calls, a user and a namespace of processes of its own"
    }

    fn accept(&self, binary: &Binary, _: &Limits) -> Result<(), String> {
        only_static(NAME, binary)
    }

    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String> {
        only_root(NAME)?;
        let filter = filter::inherited(limits.shared)?;
        Ok(Arc::new(Confined::new(Locked { filter }, binary, limits)))
    }
}

struct Locked {
    filter: seccompiler::BpfProgram,
}

impl Confinement for Locked {
    fn evidence(&self) -> Evidence {
        Evidence {
            filtered: true,
            no_capabilities: true,
            other_user: true,
            namespaces: &["pid"],
        }
    }

    fn flags(&self) -> i32 {
        // Landlock hides the files of other processes, not their numbers.
        libc::CLONE_NEWPID
    }

    fn settle(&self) -> Result<(), String> {
        no_files().map_err(|error| format!("Landlock: {error}"))?;
        filter::take_on(&self.filter)
    }

    fn confine(&self, recipe: &mut Recipe, slot: &Slot) -> Result<(), String> {
        recipe.become_user(slot.user());
        Ok(())
    }
}

/// No file, no port, no abstract socket, no signal to anybody outside: all or nothing.
pub(super) fn no_files() -> Result<(), String> {
    let abi = ABI::V6;
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(abi)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(abi)))
        .and_then(landlock::Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(|error| {
            format!("{error}; it needs Linux 6.12 or newer with Landlock switched on")
        })?;
    if ruleset.ruleset != RulesetStatus::FullyEnforced {
        return Err("the kernel enforces it in part only; it needs Linux 6.12 or newer".into());
    }
    Ok(())
}
