//! Workers that are processes: how they are started, talked to and looked at.

pub mod exit;
pub mod filter;
pub mod launch;
pub mod recipe;
pub mod rehearsal;
pub mod spawner;
pub mod verify;
pub mod worker;
