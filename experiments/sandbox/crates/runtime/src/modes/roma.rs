//! The original's isolation, in its authors' two forms: all steps for each request, and with the
//! mounts moved off the path. Both load a filter of 115 system calls into each worker. Other than the
//! original, no worker is the host's root, writes a folder of the host's, or shares its network.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::requirements::{only_root, only_static};
use super::{root, user};
use crate::binary::Binary;
use crate::limits::Limits;
use crate::mode::{Mode, Promise, Template};
use crate::process::filter;
use crate::process::recipe::Recipe;
use crate::process::spawner::{Confined, Confinement};
use crate::process::verify::Evidence;
use crate::scratch::{self, Scratch};
use crate::slot::Slot;

/// The steps that are made for each worker, and those made once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A root of its own, made and taken away for each worker.
    Original,
    /// A root for each reloader; a worker makes it read-only in a mount namespace of its own.
    Improved,
}

/// The mode.
pub struct Roma {
    /// The form.
    pub form: Form,
}

/// Folders of the host that the original form shows its workers.
pub(super) const SHOWN: &[&str] = &["lib", "lib64"];

impl Mode for Roma {
    fn name(&self) -> &'static str {
        match self.form {
            Form::Original => "roma-original",
            Form::Improved => "roma",
        }
    }

    fn promise(&self) -> Promise {
        Promise::ReferenceOnly
    }

    fn summary(&self) -> &'static str {
        match self.form {
            Form::Original => {
                "as the original at first: clone, namespaces, mounts and pivot_root for each worker"
            }
            Form::Improved => {
                "as the original later: the root is made once, namespaces and filter for each worker"
            }
        }
    }

    /// The original has a reloader for each worker.
    fn keepers(&self, workers: usize, _: usize) -> usize {
        workers
    }

    fn accept(&self, binary: &Binary, _: &Limits) -> Result<(), String> {
        only_static(self.name(), binary)
    }

    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String> {
        only_root(self.name())?;
        let confinement = Reloaded {
            form: self.form,
            filter: filter::per_worker()?,
            roots: match self.form {
                Form::Original => Some(Scratch::new()?),
                Form::Improved => None,
            },
        };
        Ok(Arc::new(Confined::new(confinement, binary, limits)))
    }
}

struct Reloaded {
    form: Form,
    filter: seccompiler::BpfProgram,
    /// The folder of workers' roots, in the form that makes one for each.
    roots: Option<Scratch>,
}

impl Confinement for Reloaded {
    fn evidence(&self) -> Evidence {
        Evidence {
            filtered: true,
            no_capabilities: true,
            other_user: true,
            namespaces: &["mnt", "net", "ipc", "uts", "pid", "user"],
        }
    }

    fn flags(&self) -> i32 {
        // The original unshares the namespace of users last; a process that shares memory may not.
        libc::CLONE_NEWPID
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUSER
    }

    fn settle(&self) -> Result<(), String> {
        root::leave(libc::CLONE_NEWNET)?;
        if self.form == Form::Improved {
            root::leave(libc::CLONE_NEWNS)?;
            root::become_empty()?;
        }
        user::keep_rights()
    }

    fn confine(&self, recipe: &mut Recipe, slot: &Slot) -> Result<(), String> {
        let private = libc::MS_PRIVATE | libc::MS_REC;
        mount(recipe, "make mounts private", ["", "/"], private);
        if let Some(roots) = &self.roots {
            own_root(recipe, &roots.folder(slot));
        }
        let kept = match self.form {
            Form::Original => 0,
            Form::Improved => libc::MOUNT_ATTR_NOEXEC,
        };
        read_only(recipe, kept);
        recipe.drop_capabilities();
        recipe.filter(&self.filter);
        Ok(())
    }

    fn prepare_slot(&self, slot: &Slot) -> Result<(), String> {
        if let Some(roots) = &self.roots {
            make_folder(&roots.folder(slot))?;
        }
        // A process in a namespace of users of its own stays who it was before.
        user::act_as(slot.user())
    }

    fn clear(&self, slot: &Slot) {
        if let Some(roots) = &self.roots {
            scratch::take_away(&roots.folder(slot));
        }
    }
}

/// Make the folder that [`own_root`] turns into a root.
pub(super) fn make_folder(folder: &Path) -> Result<(), String> {
    let made = fs::create_dir(folder).and_then(|()| {
        for name in SHOWN.iter().chain(&["pivot"]) {
            fs::create_dir(folder.join(name))?;
        }
        Ok(())
    });
    made.map_err(|error| format!("{}: {error}", folder.display()))
}

/// Every mount that the worker sees, and not its root alone.
fn read_only(recipe: &mut Recipe, kept: u64) {
    let set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | kept;
    // struct mount_attr: to set, to clear, propagation, and whose users are mapped.
    let attributes = recipe.words(&[set, 0, 0, 0]);
    let root = recipe.text("/");
    recipe.call(
        "make all mounts read-only",
        libc::SYS_mount_setattr,
        &[
            libc::AT_FDCWD as usize,
            root,
            libc::AT_RECURSIVE as usize,
            attributes,
            size_of::<[u64; 4]>(),
        ],
    );
}

/// Record the steps by which `folder` becomes the worker's root, with the folders of [`SHOWN`] in it.
pub(super) fn own_root(recipe: &mut Recipe, folder: &Path) {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let whole = folder.to_string_lossy().into_owned();
    mount(recipe, "bind the new root", [&whole, &whole], libc::MS_BIND);
    for name in SHOWN {
        let shown = format!("/{name}");
        mount(
            recipe,
            "bind a library folder",
            [&shown, &path(name)],
            libc::MS_BIND | libc::MS_REC,
        );
    }
    let (new, old) = (recipe.text(&whole), recipe.text(&path("pivot")));
    recipe.call("make it the root", libc::SYS_pivot_root, &[new, old]);
    let (slash, pivot) = (recipe.text("/"), recipe.text("/pivot"));
    recipe.call("enter the new root", libc::SYS_chdir, &[slash]);
    recipe.call(
        "take the old root away",
        libc::SYS_umount2,
        &[pivot, libc::MNT_DETACH as usize],
    );
}

fn mount(
    recipe: &mut Recipe,
    what: &'static str,
    [source, target]: [&str; 2],
    flags: libc::c_ulong,
) {
    let (source, target) = (recipe.text(source), recipe.text(target));
    recipe.call(
        what,
        libc::SYS_mount,
        &[source, target, 0, flags as usize, 0],
    );
}
