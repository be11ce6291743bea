//! What is told of a run: the result, the events of the instrument protocol, the summary for people.

pub mod events;
pub mod result;
pub mod summary;
