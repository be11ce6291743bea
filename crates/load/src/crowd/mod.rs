//! Users that send sequences of requests, whatever version of HTTP carries them.
//!
//! [`turn::Crowd`] has the users of one thread; a [`turn::Turn`] is a user at work, on a connection
//! or in a stream. [`parts::Parts`] are those of a request that values go into.

pub mod parts;
pub mod turn;
