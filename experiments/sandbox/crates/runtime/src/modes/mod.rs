//! The modes.

mod container;
pub mod kvm;
mod landlock;
mod namespaces;
mod none;
mod roma;
mod root;
mod wasm;

use crate::mode::Mode;

/// All of them, the least isolated first.
pub fn all() -> Vec<Box<dyn Mode>> {
    vec![
        Box::new(none::None),
        Box::new(landlock::Landlock),
        Box::new(namespaces::Namespaces),
        Box::new(roma::Roma {
            form: roma::Form::Improved,
        }),
        Box::new(roma::Roma {
            form: roma::Form::Original,
        }),
        Box::new(wasm::Wasm),
        Box::new(container::Gvisor),
        Box::new(container::Bwrap),
        Box::new(container::Crun),
        Box::new(container::Runc),
        Box::new(kvm::Kvm),
    ]
}

/// Modules of WebAssembly are no programs.
fn only_elf(mode: &str, binary: &crate::binary::Binary) -> Result<(), String> {
    if binary.is_module() {
        return Err(format!(
            "mode {mode} runs ELF programs only, and this is a WebAssembly module; load it in mode wasm"
        ));
    }
    Ok(())
}

/// Static binaries need nothing of the host's files, which these modes do not show.
fn only_static(mode: &str, binary: &crate::binary::Binary) -> Result<(), String> {
    only_elf(mode, binary)?;
    if binary.is_dynamic() {
        return Err(format!(
            "mode {mode} runs static binaries only, and this one names a dynamic loader; link it with -static \
             (C) or for x86_64-unknown-linux-musl (Rust)"
        ));
    }
    Ok(())
}

/// Only root can give workers users and namespaces of their own.
fn only_root(mode: &str) -> Result<(), String> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(format!(
        "mode {mode} needs root, to give each worker a user of its own; start the sandbox as root"
    ))
}
