//! The instruction set: typed operations, the slots of eight bytes that they come in, and the way there.
//!
//! Source: "BPF Instruction Set Architecture" (RFC 9669), conformance groups base32, base64,
//! atomic32, atomic64, divmul32 and divmul64. The legacy packet access group is not part of it.

mod decode;
mod op;
mod raw;

pub use self::decode::{DecodeError, decode};
pub use self::op::{Alu, Atomic, Cond, FRAME_POINTER, Op, Reg, Source};
pub use self::raw::{Raw, SLOT};
