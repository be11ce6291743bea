//! Sequences of requests, whose answers have values for later requests.
//!
//! A [`user::User`] keeps the values that were taken and its cookies; a [`template::Template`] is
//! text with places for values; a [`place::Place`] says where in an answer a value stands.

pub mod capture;
mod cookie_date;
pub mod jar;
pub mod names;
pub mod place;
pub mod pointer;
mod set_cookie;
pub mod take;
pub mod template;
pub mod user;
