//! A filter of nginx that is an eBPF program: its [`memory`], which a controller makes with program and
//! maps in it, the [`maps`] that both know by name, and the functions of `include/filter_abi.h`.

mod abi;
mod guard;
pub mod maps;
pub mod memory;

// With other processors, a reader of maps/generations could see it change after the prefix did.
#[cfg(not(target_arch = "x86_64"))]
compile_error!("filter.bpf.c relies on x86-64 for the order of its loads");

// guard.rs could stop no panic.
#[cfg(not(panic = "unwind"))]
compile_error!("build with CARGO_PROFILE_RELEASE_PANIC=unwind, as build.sh does");
