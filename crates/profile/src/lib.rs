//! Shows where the CPU time and the waiting of processes go: stacks by sampling, waits, and exact counts, by BPF.
//!
//! The protocol is in docs/FORMAT.md, "The profile protocol".

pub mod cli;
pub mod failure;
pub mod kernel;
pub mod kernel_threads;
pub mod memory;
pub mod names;
pub mod parent;
pub mod profile;
pub mod run;
pub mod tail;
pub mod unwind;
pub mod vdso;
