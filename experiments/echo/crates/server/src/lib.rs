//! The part that all echo servers share, so that only their data paths differ: the command line,
//! sockets and their options, statistics over a control socket, the log, and draining on SIGTERM.

pub mod accept;
mod connection;
pub mod copy;
pub mod counters;
pub mod log;
pub mod mover;
pub mod options;
pub mod privileges;
pub mod readiness;
pub mod service;
pub mod sockets;
mod usage;

pub use counters::{Counters, Moved};
pub use options::{Options, Shape};
pub use service::{Thread, serve};
