//! The part that the io_uring echo servers share: a thread's ring, and accepting and closing
//! clients. Each server moves bytes in its own way.

pub mod clients;
pub mod ring;
pub mod token;

pub use clients::Path;
pub use ring::{Completion, Ring};
pub use token::{Kind, Token};
