//! Modes by the names that the command line gives.

use anyhow::{Context, Result};
use sandbox_runtime::mode::Mode;
use sandbox_runtime::modes;

/// Return the mode of that name.
///
/// # Errors
///
/// Names all modes if it is none of them.
pub fn named(name: &str) -> Result<Box<dyn Mode>> {
    let all = modes::all();
    let names: Vec<&str> = all.iter().map(|mode| mode.name()).collect();
    let refusal = format!(
        "--mode: found {name:?}, expected one of {}",
        names.join(", ")
    );
    all.into_iter()
        .find(|mode| mode.name() == name)
        .context(refusal)
}
