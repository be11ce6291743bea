//! What the echo servers over io_uring share: the ring of a thread, and the clients' coming and
//! going. How bytes are moved is each server's own.

pub mod clients;
pub mod ring;
pub mod token;

pub use clients::Path;
pub use ring::{Completion, Ring};
pub use token::{Kind, Token};
