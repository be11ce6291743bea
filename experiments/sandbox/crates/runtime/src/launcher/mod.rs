//! The parts of a daemon of root's, which are two processes. The *launcher* keeps root's rights: it starts
//! workers, looks at them from outside, watches their CPU time, kills and collects them. The *broker* is
//! another user without any right: it has the clients, their requests, the queues and the logs. Whatever
//! the broker sends, the launcher does no more than start workers of binaries within limits.

pub mod confine;
mod handle;
mod remote;
mod serve;

pub use self::remote::{Launcher, Which};
pub use self::serve::{Files, pass, serve};
pub use crate::numbers::Spare;
