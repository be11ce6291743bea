//! Times and rates as people write and read them, and the calendar.

use std::time::{SystemTime, UNIX_EPOCH};

/// A time in seconds: a number with `ms`, `s`, `m`, `h` or nothing behind it.
pub fn seconds(text: &str) -> Result<f64, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let scale = match unit {
        // The micro sign, and the letter that looks the same.
        "us" | "µs" | "μs" => 1e-6,
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
    // What would be rounded to a thousand is written in the next unit.
    if us < 999.995 {
        format!("{us:.2} µs")
    } else if us < 999_995.0 {
        format!("{:.2} ms", us / 1e3)
    } else {
        format!("{:.3} s", us / 1e6)
    }
}

/// The seconds since 1970.
pub fn seconds_since_1970() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

/// Days from 1970 to a day of the Gregorian calendar, negative before it.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin with March have their leap day at the end.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// A number per second, formatted for people.
pub fn format_rate(per_second: f64) -> String {
    match per_second > 0.0 && per_second < 9.995 {
        true => format!("{per_second:.2}"),
        false => format!("{per_second:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_the_unit_that_it_is_rounded_to() {
        assert_eq!(format_us(999.99), "999.99 µs");
        assert_eq!(format_us(999.999), "1.00 ms");
        assert_eq!(format_us(999_990.0), "999.99 ms");
        assert_eq!(format_us(999_999.0), "1.000 s");
    }

    #[test]
    fn low_rates_are_not_rounded_away() {
        let written = [0.0, 0.4, 9.99, 9.999, 1234.5].map(format_rate);
        assert_eq!(written, ["0", "0.40", "9.99", "10", "1234"]);
    }

    #[test]
    fn times_have_units() {
        assert_eq!(seconds("1.5"), Ok(1.5));
        assert_eq!(seconds("250ms"), Ok(0.25));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert_eq!(seconds("5µs"), seconds("5μs"));
        assert!(seconds("10x").is_err());
        assert!(seconds("s").is_err());
        assert!(seconds("").is_err());
    }
}
