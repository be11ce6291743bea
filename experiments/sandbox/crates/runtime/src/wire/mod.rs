//! Messages between a broker and its launcher.

mod control;
mod line;

pub use self::control::{Answer, Question, answer, answered};
#[cfg(test)]
pub use self::line::lost;
pub use self::line::{event, give, order, tell};
