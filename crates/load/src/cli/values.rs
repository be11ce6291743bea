//! Parsers of single arguments.

use crate::spec::Think;
use crate::time::seconds;

/// A header as `Name: value`.
pub fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `Name: value`")?;
    Ok((name.trim().into(), value.trim().into()))
}

/// A distribution of delays: `1s`, `uniform:0.5s..2s` or `exp:1s`.
pub fn think(text: &str) -> Result<Think, String> {
    if let Some(bounds) = text.strip_prefix("uniform:") {
        let (min, max) = bounds
            .split_once("..")
            .ok_or("write it as uniform:0.5s..2s")?;
        return Ok(Think::Uniform {
            min_s: seconds(min)?,
            max_s: seconds(max)?,
        });
    }
    match text.strip_prefix("exp:") {
        Some(mean) => Ok(Think::Exponential {
            mean_s: seconds(mean)?,
        }),
        None => Ok(Think::Fixed { s: seconds(text)? }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_delays_have_distributions() {
        let uniform = Think::Uniform {
            min_s: 0.5,
            max_s: 2.0,
        };
        assert_eq!(think("1s"), Ok(Think::Fixed { s: 1.0 }));
        assert_eq!(think("uniform:500ms..2s"), Ok(uniform));
        assert_eq!(think("exp:1"), Ok(Think::Exponential { mean_s: 1.0 }));
        assert!(think("uniform:1s").is_err() && think("normal:1s").is_err());
    }
}
