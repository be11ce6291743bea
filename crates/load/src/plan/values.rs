//! Checks of single values.

use crate::spec::SpecError;
use crate::spec::default::LONGEST_S;

/// Most sends per second of a thread in an open loop: several times what it can send.
const MOST_PER_THREAD: f64 = 1e7;

/// A window that no run outlasts, in nanoseconds: a hundred years.
pub const FOREVER: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// Most bytes of a body that is made.
const LARGEST: usize = 1 << 30;

/// Refuse a size of a body that is made that no memory may hold.
///
/// # Errors
/// A [`SpecError`] with the largest.
pub fn can_make(size: usize) -> Result<(), SpecError> {
    if size > LARGEST {
        let remedy = format!("write at most {LARGEST}");
        return Err(SpecError::new("body.size", format!("{size} bytes"), remedy));
    }
    Ok(())
}

/// Refuse a rate that `threads` cannot send.
///
/// # Errors
/// The rate and its limit, in words.
pub fn can_send(rate: f64, threads: usize) -> Result<(), String> {
    if rate > MOST_PER_THREAD * threads as f64 {
        return Err(format!(
            "{rate} is more than {MOST_PER_THREAD} a second for each thread"
        ));
    }
    Ok(())
}

/// Refuse a number that is not above 0.
///
/// # Errors
/// A [`SpecError`] that names the field.
pub fn positive(field: &str, value: f64) -> Result<(), SpecError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(SpecError::new(
        field,
        format!("{value} is not above 0"),
        "write a positive number",
    ))
}

/// Seconds as nanoseconds.
///
/// # Errors
/// A [`SpecError`] that names the field, for a time that no run has.
pub fn nanoseconds(field: &str, seconds: f64) -> Result<u64, SpecError> {
    let ns = (seconds * 1e9).round() as u64;
    if !(0.0..=LONGEST_S).contains(&seconds) || (ns == 0 && seconds > 0.0) {
        let remedy = format!("write seconds from 0 to {LONGEST_S}");
        return Err(SpecError::new(
            field,
            format!("{seconds} is out of range"),
            remedy,
        ));
    }
    Ok(ns)
}
