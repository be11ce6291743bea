//! Checks of single values.

use crate::spec::SpecError;
use crate::spec::default::LONGEST_S;

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
    if !(0.0..=LONGEST_S).contains(&seconds) {
        let remedy = format!("write seconds from 0 to {LONGEST_S}");
        return Err(SpecError::new(
            field,
            format!("{seconds} is out of range"),
            remedy,
        ));
    }
    Ok((seconds * 1e9).round() as u64)
}
