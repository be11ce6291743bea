//! Requirements of modes on a binary, on the user and on what is installed.

use std::env::consts::ARCH;
use std::path::PathBuf;

use crate::binary::Binary;

/// Refuse modules of WebAssembly, which are no programs.
///
/// # Errors
///
/// The refusal, in words.
pub fn only_elf(mode: &str, binary: &Binary) -> Result<(), String> {
    if binary.is_module() {
        return Err(format!(
            "mode {mode} runs ELF programs only, and this is a WebAssembly module; load it in mode wasm"
        ));
    }
    Ok(())
}

/// Refuse all but static binaries, which need none of the host's files: these modes show none.
///
/// # Errors
///
/// The refusal, in words.
pub fn only_static(mode: &str, binary: &Binary) -> Result<(), String> {
    only_elf(mode, binary)?;
    if binary.is_dynamic() {
        return Err(format!(
            "mode {mode} runs static binaries only, and this one names a dynamic loader; link it with -static \
             (C) or for {ARCH}-unknown-linux-musl (Rust)"
        ));
    }
    Ok(())
}

/// Refuse users other than root, who cannot give workers users and namespaces of their own.
///
/// # Errors
///
/// The refusal, in words.
pub fn only_root(mode: &str) -> Result<(), String> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(format!(
        "mode {mode} needs root, to give each worker a user of its own; start the sandbox as root"
    ))
}

/// Find a program of the sandbox's own: beside this one, or above it, where cargo puts it for tests.
///
/// # Errors
///
/// The reason, in words.
pub fn beside(program: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("this program's folder: {error}"))?;
    let mut places = own
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(program));
    places.find(|place| place.is_file()).ok_or_else(|| {
        format!(
            "{program} is not beside {}; build it, or install it there",
            own.display()
        )
    })
}
