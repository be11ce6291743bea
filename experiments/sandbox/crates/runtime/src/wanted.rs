//! The workers that a binary is to have.

use crate::limits::Limits;

/// The most workers of one binary.
const WORKERS_MAX: usize = 4096;

/// The workers that a binary is to have.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The limits of each.
    pub limits: Limits,
    /// True if their standard error is kept.
    pub is_logged: bool,
    /// The number of workers that are kept ready.
    pub workers: usize,
    /// Threads that refill.
    pub keepers: usize,
}

impl Wanted {
    /// Refuse what cannot be.
    ///
    /// # Errors
    ///
    /// Names what was found and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        self.limits.check()?;
        let (workers, keepers) = (self.workers, self.keepers);
        if !(1..=WORKERS_MAX).contains(&workers) {
            return Err(format!(
                "workers: found {workers}, expected 1 to {WORKERS_MAX}"
            ));
        }
        if !(1..=workers).contains(&keepers) {
            return Err(format!("keepers: found {keepers}, expected 1 to {workers}"));
        }
        Ok(())
    }
}
