//! The kernel's part: the BPF programs, their tables, and the sampling clock.

mod layout;
mod programs;
mod sampling;
mod tables;
mod unwinding;

pub use self::layout::{Place, Process, Sum, Why};
pub use self::programs::{Programs, ensure_point, ensure_possible, refusal};
pub use self::tables::{Record, Stack};
pub use self::unwinding::Unwinding;
