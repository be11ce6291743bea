//! The workers of one handle that are ready, and the calls that wait for one.

mod queue;

pub use self::queue::{PerClient, Pool, Ready};
