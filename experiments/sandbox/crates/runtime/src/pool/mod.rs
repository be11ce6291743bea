//! The workers of one handle: those that are ready, the calls that wait for one, and the keepers
//! that make more.

pub mod inbox;
pub mod keeper;
mod place;
mod queue;
mod starts;
mod watch;

pub use self::queue::{PerClient, Pool, Ready};
