//! Containers, as the tools of others make them: a fresh one for each call, which is there before
//! the call. The tool is the first process of a namespace of processes, so that its end is the end of
//! all that it has started; what it keeps in files is in memory that nobody else sees.

pub mod around;
mod bwrap;
mod crun;
mod gvisor;
mod oci;
mod runc;
mod tool;

pub use self::around::GvisorShared;
pub use self::bwrap::Bwrap;
pub use self::crun::Crun;
pub use self::gvisor::Gvisor;
pub use self::runc::Runc;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

use self::tool::{Bundle, STATE, Tool};
use super::requirements::{only_root, only_static};
use super::root;
use crate::binary::Binary;
use crate::limits::Limits;
use crate::mode::{Mode, Overhead, Promise, Template};
use crate::process::recipe::Recipe;
use crate::process::spawner::{Confined, Confinement};
use crate::process::verify::Evidence;
use crate::slot::Slot;
use crate::trial;

/// The folder on which a keeper's own files are mounted: it must exist, and no tool may need it.
const PLACE: &str = "/mnt";

impl<T: Tool> Mode for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn promise(&self) -> Promise {
        Promise::Apart
    }

    fn summary(&self) -> &'static str {
        T::SUMMARY
    }

    fn overhead(&self) -> Overhead {
        Tool::overhead(*self)
    }

    fn has_logs(&self) -> bool {
        T::LOGS
    }

    fn accept(&self, binary: &Binary, _: &Limits) -> Result<(), String> {
        only_static(T::NAME, binary)
    }

    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String> {
        only_root(T::NAME)?;
        let contained = Contained {
            tool: *self,
            program: find::<T>()?,
            binary: binary.clone(),
        };
        Ok(Arc::new(Confined::new(contained, binary, limits)))
    }
}

/// The program's path.
fn find<T: Tool>() -> Result<String, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let executable = |file: &PathBuf| {
        fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path)
        .map(|folder| folder.join(T::PROGRAM))
        .find(executable)
        .and_then(|file| {
            file.canonicalize()
                .ok()?
                .into_os_string()
                .into_string()
                .ok()
        })
        .ok_or_else(|| format!("{} is not on the PATH; {}", T::PROGRAM, T::REMEDY))
}

struct Contained<T> {
    tool: T,
    program: String,
    binary: Arc<Binary>,
}

impl<T: Tool> Confinement for Contained<T> {
    fn evidence(&self) -> Evidence {
        self.tool.evidence()
    }

    fn flags(&self) -> i32 {
        libc::CLONE_NEWPID | libc::CLONE_NEWNS
    }

    fn settle(&self) -> Result<(), String> {
        own_files(&self.binary)?;
        self.tool.settle()
    }

    fn confine(&self, _: &mut Recipe, _: &Slot) -> Result<(), String> {
        Ok(())
    }

    fn write(&self, recipe: &mut Recipe, slot: &Slot, limits: &Limits) -> Result<(), String> {
        self.write_in(root_folder(), recipe, slot, limits)
    }

    fn starter(&self) -> Option<&'static str> {
        Some(T::PROGRAM)
    }

    fn write_trial(&self, recipe: &mut Recipe, slot: &Slot, limits: &Limits) -> Result<(), String> {
        let root = Path::new(PLACE).join("trial");
        if !root.exists() {
            write_files(&root, &trial::binary())
                .map_err(|error| format!("{}: {error}", root.display()))?;
        }
        self.write_in(root, recipe, slot, limits)
    }

    fn examined(&self, pid: i32) -> i32 {
        self.tool.examined(pid)
    }

    fn clear(&self, slot: &Slot) {
        let state = folder(slot).join(STATE);
        let _ = fs::remove_dir_all(&state).and_then(|()| fs::create_dir(&state));
        self.tool.clear(slot);
    }
}

impl<T: Tool> Contained<T> {
    /// Record the start of a container whose root is the folder `root`.
    fn write_in(
        &self,
        root: PathBuf,
        recipe: &mut Recipe,
        slot: &Slot,
        limits: &Limits,
    ) -> Result<(), String> {
        let bundle = Bundle {
            folder: folder(slot),
            root,
            slot,
            limits,
        };
        fs::create_dir_all(bundle.folder.join(STATE))
            .map_err(|error| format!("{}: {error}", bundle.folder.display()))?;
        let arguments = self.tool.arguments(&bundle)?;
        // The tool looks for its children by their numbers in its own namespace.
        let (kind, place) = (recipe.text("proc"), recipe.text("/proc"));
        recipe.call("its own /proc", libc::SYS_mount, &[kind, place, kind, 0, 0]);
        self.tool.confine(recipe, &bundle)?;
        recipe.execute_file(&self.program, &arguments);
        Ok(())
    }
}

fn folder(slot: &Slot) -> PathBuf {
    Path::new(PLACE).join(slot.number.to_string())
}

fn root_folder() -> PathBuf {
    Path::new(PLACE).join("root")
}

/// Give the thread a mount namespace, and files of its own at [`PLACE`] with the root of all containers.
fn own_files(binary: &Binary) -> Result<(), String> {
    root::leave(libc::CLONE_NEWNS)?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    let closed = MountFlags::NOSUID | MountFlags::NODEV;
    mount_change("/", private)
        .and_then(|()| mount("tmpfs", PLACE, "tmpfs", closed, c"mode=0755"))
        .map_err(|error| format!("files of its own at {PLACE}: {error}"))?;
    write_files(&root_folder(), binary.bytes()?)
        .map_err(|error| format!("files of its own at {PLACE}: {error}"))
}

/// The root of all containers: the binary, and folders that tools look for or mount at.
fn write_files(root: &Path, binary: &[u8]) -> std::io::Result<()> {
    for name in ["proc", "dev"] {
        fs::create_dir_all(root.join(name))?;
    }
    let file = root.join("udf");
    fs::write(&file, binary)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o555))?;
    fs::set_permissions(root, fs::Permissions::from_mode(0o555))
}
