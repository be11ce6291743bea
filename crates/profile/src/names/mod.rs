//! From addresses to frames: symbols, perf maps of JITs.

mod frames;
mod go;
mod perf_map;
mod stacks;
mod symbols;

pub use self::frames::{Frame, Kind};
pub use self::stacks::{Named, name};
