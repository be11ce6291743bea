//! Finds out what the slowest requests waited for: every switch of the roles' tasks, by BPF, beside the
//! times that the load generator wrote of each answer.

mod blame;
mod causes;
pub mod cli;
mod events;
mod kernel;
mod requests;
pub mod run;
mod sockets;
mod tasks;
