//! A userspace eBPF runtime that is safe and fast.
//!
//! [`elf`] links a program out of an object file of `clang -target bpf`, [`verifier`] proves it safe,
//! [`compile`] lowers it to machine code without checks of memory, and [`maps`] are memory that
//! several processes share. [`interpreter`] runs the same programs slowly and checks everything: the
//! reference that compiled code is tested against.

// The crate's own tests make programs as those in `tests/` do.
#[cfg(test)]
extern crate self as filter_ebpf;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;

pub mod btf;
mod call_graph;
mod calls;
pub mod compile;
pub mod concrete;
pub mod context;
mod declaration;
pub mod elf;
pub mod fingerprint;
pub mod fuel;
pub mod helpers;
pub mod insn;
pub mod interpreter;
mod map_spec;
pub mod maps;
mod planted;
pub mod program;
mod sources;
mod trace;
pub mod verifier;
