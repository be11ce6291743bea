//! The interface of a tool that makes containers.

use std::path::{Path, PathBuf};

use crate::children::innermost;
use crate::limits::Limits;
use crate::mode::Overhead;
use crate::process::recipe::Recipe;
use crate::process::verify::Evidence;
use crate::slot::Slot;

/// The part of a slot's folder that the tool writes.
pub const STATE: &str = "state";

/// A program that runs a binary in a container.
pub trait Tool: Copy + Send + Sync + 'static {
    /// The mode's name on the command line.
    const NAME: &'static str;
    /// In one sentence, what stands between a binary and the host.
    const SUMMARY: &'static str;
    /// The program, which is looked for on the PATH.
    const PROGRAM: &'static str;
    /// The way to install it, as an instruction.
    const REMEDY: &'static str;

    /// True if a binary's standard error is the tool's own.
    const LOGS: bool = true;

    /// The resources that it needs besides what its binary may use.
    fn overhead(self) -> Overhead;

    /// The evidence that must be seen from outside of the process that stands for the binary.
    fn evidence(self) -> Evidence;

    /// Return that process, which is below the tool's own.
    fn examined(self, tool: i32) -> i32 {
        innermost(tool)
    }

    /// Prepare the keeper's thread, which has a mount namespace of its own.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    fn settle(self) -> Result<(), String> {
        Ok(())
    }

    /// Return its arguments. It may write the files of `bundle` that they name.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    fn arguments(self, bundle: &Bundle<'_>) -> Result<Vec<String>, String>;

    /// Write down what the tool's process does to itself before it becomes the tool.
    ///
    /// # Errors
    ///
    /// What could not be made for it, in words.
    fn confine(self, _recipe: &mut Recipe, _bundle: &Bundle<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Take away what a container leaves when it was ended from outside.
    fn clear(self, _slot: &Slot) {}
}

/// The parts of a container.
pub struct Bundle<'a> {
    /// A folder of the slot's.
    pub folder: PathBuf,
    /// The folder that is to be its root, with the binary as `udf`.
    pub root: PathBuf,
    /// Its slot.
    pub slot: &'a Slot,
    /// The binary's limits.
    pub limits: &'a Limits,
}

/// Return a path as an argument.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
