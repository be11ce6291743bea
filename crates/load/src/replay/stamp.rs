//! Points in time as logs write them.

use super::fault::Fault;
use crate::time::days_since_1970;

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since 1970.
    pub at: u64,
    /// True if it has no fraction of a second.
    pub whole: bool,
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// A time as the common log format has it: `10/Oct/2000:13:55:36 -0700`.
///
/// # Errors
/// When it is none.
pub fn common(text: &str) -> Result<Stamp, Fault> {
    let read = || {
        let (date, clock) = text.split_once(':')?;
        let mut parts = date.split('/');
        let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
        let month = MONTHS.iter().position(|name| *name == month)? + 1;
        let days = days(number(year)?, month as i64, number(day)?)?;
        let (clock, zone) = clock.split_once(' ').unwrap_or((clock, "+0000"));
        at(days, clock, zone)
    };
    read().ok_or_else(|| format!("{text:?} is no time"))
}

/// A time by RFC 3339, with some of the liberties of ISO 8601: `2026-11-25T10:00:00.25+01:00`.
///
/// # Errors
/// When it is none.
pub fn iso(text: &str) -> Result<Stamp, Fault> {
    let read = || {
        let (date, clock) = text.split_once(['T', 't', ' '])?;
        let mut parts = date.splitn(3, '-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let days = days(number(year)?, number(month)?, number(day)?)?;
        let zone = clock.find(['Z', 'z', '+', '-', ' ']);
        let (clock, zone) = clock.split_at(zone.unwrap_or(clock.len()));
        at(days, clock, zone)
    };
    read().ok_or_else(|| format!("{text:?} is no time"))
}

/// Seconds since 1970; or milliseconds, microseconds or nanoseconds if there are too many for a date.
///
/// # Errors
/// When it is none.
pub fn unix(value: f64) -> Result<Stamp, Fault> {
    let scale = [(1e10, 1e6), (1e13, 1e3), (1e16, 1.0), (1e19, 1e-3)];
    let found = scale.iter().find(|(below, _)| value < *below);
    match found {
        Some((below, scale)) if value >= 0.0 => Ok(Stamp {
            // The number has no more exact digits than microseconds.
            at: (value * scale).round() as u64 * 1000,
            whole: *below == 1e10 && value.fract() == 0.0,
        }),
        _ => Err(format!("{value} is no time")),
    }
}

/// The time of a day's clock, `HH:MM:SS[.FRACTION]`, in a zone as `Z`, `+HH:MM` or `-HHMM`.
fn at(days: i64, clock: &str, zone: &str) -> Option<Stamp> {
    let (clock, fraction) = match clock.split_once(['.', ',']) {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let mut parts = clock.split(':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    // The last is a leap second.
    (parts.next().is_none() && hour < 24 && minute < 60 && second < 61).then_some(())?;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset(zone.trim())?;
    let nanoseconds = match fraction {
        None => 0,
        Some(digits) => {
            number(digits)?;
            let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
            number(&nine)? as u64
        }
    };
    Some(Stamp {
        at: u64::try_from(seconds).ok()?.checked_mul(SECOND)? + nanoseconds,
        whole: fraction.is_none(),
    })
}

/// Seconds east of Greenwich.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.chars().next() {
        None | Some('Z' | 'z') => return Some(0),
        Some('+') => 1,
        Some('-') => -1,
        Some(_) => return None,
    };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let value = number(&digits)?;
    let (hours, minutes) = match digits.len() {
        2 => (value, 0),
        4 => (value / 100, value % 100),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Days from 1970 to a day of the Gregorian calendar; years before it have none.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leaps => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let valid =
        (1970..2500).contains(&year) && (1..=12).contains(&month) && (1..=last).contains(&day);
    valid.then_some(())?;
    Some(days_since_1970(year, month, day))
}

/// A number of at most 18 digits; `parse` alone would take a sign.
fn number(digits: &str) -> Option<i64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() <= 18;
    digits.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(stamp: Result<Stamp, Fault>) -> (f64, bool) {
        let stamp = stamp.unwrap();
        ((stamp.at / 1000) as f64 / 1e6, stamp.whole)
    }

    #[test]
    fn times_are_read() {
        assert_eq!(
            seconds(common("10/Oct/2000:13:55:36 -0700")),
            (971_211_336.0, true)
        );
        assert_eq!(seconds(common("01/Jan/1970:00:00:00 +0000")), (0.0, true));
        assert_eq!(seconds(iso("2000-10-10T20:55:36Z")), (971_211_336.0, true));
        assert_eq!(
            seconds(iso("2024-02-29 01:00:00.25+01:00")),
            (1_709_164_800.25, false)
        );
        assert_eq!(
            seconds(iso("2024-03-01T00:00:00,5")),
            (1_709_251_200.5, false)
        );
        assert_eq!(seconds(unix(971_211_336.5)), (971_211_336.5, false));
        assert_eq!(seconds(unix(971_211_336.0)), (971_211_336.0, true));
        assert_eq!(
            seconds(unix(1_709_164_800_250.0)),
            (1_709_164_800.25, false)
        );
        assert_eq!(
            seconds(unix(1_709_164_800_250_000.0)),
            (1_709_164_800.25, false)
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            ":",
            "10/Oct/2000",
            "10/Okt/2000:13:55:36 +0000",
            "1/2/3:4:5:6",
            "10/Oct/2000:24:00:00 +0000",
            "10/Oct/2000:13:55:36 x",
            "-1/Oct/2000:13:55:36 +0000",
        ] {
            assert!(common(text).is_err(), "{text}");
        }
        for text in [
            "",
            "T",
            "2024-13-01T00:00:00Z",
            "2024-01-01T00:00Z",
            "2024-01-01T00:00:00.Z",
            "1969-12-31T23:59:59Z",
            "2024-01-01T00:00:00+25:00",
            "99999999999-01-01T00:00:00",
        ] {
            assert!(iso(text).is_err(), "{text}");
        }
        for value in [-1.0, f64::NAN, f64::INFINITY, 1e20] {
            assert!(unix(value).is_err(), "{value}");
        }
    }

    #[test]
    fn months_have_their_days() {
        for right in [
            "2024-02-29T00:00:00Z",
            "2000-02-29T00:00:00Z",
            "2026-12-31T00:00:00Z",
        ] {
            assert!(iso(right).is_ok(), "{right}");
        }
        for wrong in [
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
        ] {
            assert!(iso(wrong).is_err(), "{wrong}");
        }
    }
}
