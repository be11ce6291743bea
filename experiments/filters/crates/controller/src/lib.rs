//! The part that the filters' controllers share: shared memory by name that one process owns,
//! prefixes that readers never see in part, and the loop that prints counters and takes commands.

pub mod cli;
pub mod layout;
pub mod memory;
pub mod run;
pub mod shm;
