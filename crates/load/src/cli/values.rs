//! How single arguments are read.

use crate::engine::think::Think;

/// A time in seconds: a number with `ms`, `s`, `m`, `h` or nothing behind it.
pub fn seconds(text: &str) -> Result<f64, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let scale = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => {
            return Err(format!(
                "{unit:?} is no unit of time; write us, ms, s, m or h"
            ));
        }
    };
    let number = &text[..text.len() - unit.len()];
    let number: f64 = number
        .parse()
        .map_err(|_| "a time begins with a number, as in 10s".to_string())?;
    Ok(number * scale)
}

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
    fn times_have_units() {
        assert_eq!(seconds("1.5"), Ok(1.5));
        assert_eq!(seconds("250ms"), Ok(0.25));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert!(seconds("10x").is_err());
        assert!(seconds("s").is_err());
        assert!(seconds("").is_err());
    }

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
