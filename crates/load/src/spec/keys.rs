//! The requested objects, as a spec describes them.

use serde::Deserialize;

use super::error::SpecError;

/// The choice of the objects' numbers, which count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySpec {
    /// The number of objects.
    pub count: u64,
    /// The exponent of Zipf's law, by which object 0 is the most popular; all are equally popular
    /// if absent.
    #[serde(default)]
    pub alpha: Option<f64>,
    /// The order in which they are requested.
    #[serde(default)]
    pub order: Order,
}

/// The order in which objects are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// At random.
    #[default]
    Random,
    /// One after the other, from 0, and again from 0 after the last.
    Turns,
}

impl KeySpec {
    /// Refuse values that make no distribution.
    ///
    /// # Errors
    /// A [`SpecError`] that names the field.
    pub fn check(self) -> Result<(), SpecError> {
        if self.count == 0 {
            let remedy = "write how many objects there are";
            return Err(SpecError::new("keys.count", "0 objects", remedy));
        }
        if let Some(alpha) = self.alpha.filter(|alpha| !(*alpha > 0.0 && *alpha <= 10.0)) {
            let found = format!("{alpha} is out of range");
            let remedy = "write a number above 0 and at most 10, or leave it out";
            return Err(SpecError::new("keys.alpha", found, remedy));
        }
        if self.order == Order::Turns && self.alpha.is_some() {
            let remedy = "leave out one of them";
            return Err(SpecError::new("keys.order", "turns beside alpha", remedy));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_distribution_is_refused() {
        let check = |count, alpha, order| {
            KeySpec {
                count,
                alpha,
                order,
            }
            .check()
        };
        let (random, turns) = (Order::Random, Order::Turns);
        assert!(check(1, None, random).is_ok() && check(5, Some(0.9), random).is_ok());
        assert!(check(0, None, random).is_err() && check(5, Some(0.0), random).is_err());
        assert!(check(5, Some(f64::NAN), random).is_err());
        assert!(check(5, None, turns).is_ok() && check(5, Some(1.0), turns).is_err());
    }
}
