//! Runs foreign binaries, isolated: a binary is loaded once, single-use workers of it are kept
//! ready, and each call gets one of them. What isolates them is a [`mode::Mode`].
//!
//! ```no_run
//! use std::sync::Arc;
//! use sandbox_runtime::{Runtime, Settings, binary::Binary, call::{Caller, HostFunctions}, modes};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mode = modes::all().into_iter().find(|mode| mode.name() == "namespaces").unwrap();
//! let runtime = Runtime::new(mode, HostFunctions::default())?;
//! runtime.load("hello", Binary::new(std::fs::read("hello")?)?, Settings::default())?;
//! let caller = Arc::new(Caller::new(None)?);
//! let served = runtime.call("hello", b"", &caller, None);
//! println!("{:?} after {:?}", served.outcome, served.times);
//! # Ok(())
//! # }
//! ```

pub mod binary;
mod board;
pub mod budget;
pub mod call;
mod callee;
mod cgroup;
mod children;
mod connection;
mod cores;
mod crew;
pub mod descriptors;
pub mod dialogue;
mod dispatcher;
pub mod failure;
pub mod frame;
pub mod home;
mod host;
mod janitor;
mod keeper;
pub mod launcher;
pub mod limits;
mod line;
mod loaded;
mod lock;
mod log;
pub mod message;
pub mod metrics;
pub mod mode;
pub mod modes;
mod numbers;
pub mod opener;
mod order;
mod packet;
mod pool;
pub mod process;
mod runtime;
mod scratch;
pub mod shared;
pub mod slot;
pub mod trial;
mod wanted;
mod warden;
mod wire;

pub use self::host::Host;
pub use self::loaded::{Served, Settings};
pub use self::pool::PerClient;
pub use self::runtime::Runtime;
