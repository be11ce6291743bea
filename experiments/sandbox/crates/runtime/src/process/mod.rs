//! Workers that are processes: how they are started, talked to and looked at.

pub mod filter;
pub mod launch;
pub mod nursery;
pub mod recipe;
pub mod shared;
pub mod talk;
pub mod trial;
pub mod verify;
pub mod worker;
