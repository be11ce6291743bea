//! Users that send sequences of requests, whatever version of HTTP carries them.
//!
//! [`turn::Crowd`] has the users of one thread; a [`turn::Turn`] is a user at work, on a connection
//! or in a stream, in which it has a [`seats::Seat`]. [`parts::Parts`] are those of a request that
//! values go into, [`valued::Valued`] is one whose header is fields.

pub mod parts;
pub mod seats;
pub mod turn;
pub mod valued;
