//! From addresses to frames: memory maps, symbols, perf maps of JITs.

mod frames;
mod memory;
mod perf_map;
mod stacks;
mod symbols;

pub use self::frames::{Frame, Kind};
pub use self::memory::{Content, Mapping, Memories, Memory};
pub use self::stacks::{Named, name};
pub use self::symbols::own_vdso;
