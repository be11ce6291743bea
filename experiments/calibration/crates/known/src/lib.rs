//! A small HTTP/1.1 server of one thread whose extra costs are known: it measures its own CPU time and burns
//! the asked share of it on top, in place, so that the truth does not depend on the machine.

pub mod account;
pub mod burden;
pub mod connection;
pub mod drift;
pub mod options;
pub mod request;
pub mod server;
