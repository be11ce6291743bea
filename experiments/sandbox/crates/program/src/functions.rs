//! The functions that binaries may call back.

use sandbox_runtime::call::{HostFunction, HostFunctions};

/// The functions that the daemon offers to binaries that call back.
pub fn functions() -> HostFunctions {
    let mut functions = HostFunctions::default();
    let echo: HostFunction = Box::new(|input| Ok(input.to_vec()));
    functions.0.insert("echo".into(), echo);
    functions
}
