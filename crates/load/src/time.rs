//! Times as people write and read them.

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
                "{unit:?} is not a unit of time; write us, ms, s, m or h"
            ));
        }
    };
    let number = &text[..text.len() - unit.len()];
    let number: f64 = number
        .parse()
        .map_err(|_| "a time begins with a number, as in 10s".to_string())?;
    Ok(number * scale)
}

/// A time in microseconds, formatted for people.
pub fn format_us(us: f64) -> String {
    if us < 1e3 {
        format!("{us:.2} µs")
    } else if us < 1e6 {
        format!("{:.2} ms", us / 1e3)
    } else {
        format!("{:.3} s", us / 1e6)
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
}
