//! Dates of cookies, read as tolerantly as browsers do (RFC 6265, section 5.1.1).

use crate::time::days_since_1970;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The seconds from 1970 to a date, negative before it; none if the text is no date.
pub fn seconds(text: &str) -> Option<i64> {
    let (mut clock, mut day, mut month, mut year) = (None, None, None, None);
    let is_delimiter = |c: char| !(c.is_ascii_alphanumeric() || c == ':' || c as u32 > 0x7f);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if clock.is_none() && token.contains(':') {
            clock = Some(time_of_day(token)?);
        } else if let (None, Some(number @ 1..=31)) = (day, number(token, 1..=2)) {
            day = Some(number);
        } else if let (None, Some(found)) = (month, month_of(token)) {
            month = Some(found);
        } else if let (None, Some(number)) = (year, number(token, 2..=4)) {
            year = Some(match number {
                70..=99 => number + 1900,
                0..=69 => number + 2000,
                _ => number,
            });
        }
    }
    let days = days_since_1970(year.filter(|year| *year >= 1601)?, month?, day?);
    Some(days * 86_400 + clock?)
}

/// The number of a month by the first three letters of its name.
fn month_of(token: &str) -> Option<i64> {
    let name = token.get(..3)?.to_ascii_lowercase();
    let index = MONTHS.iter().position(|month| *month == name)?;
    Some(index as i64 + 1)
}

fn time_of_day(token: &str) -> Option<i64> {
    let mut parts = token.split(':').map(|part| number(part, 1..=2));
    let mut part = |limit| parts.next().flatten().filter(|value| *value < limit);
    let (hours, minutes, seconds) = (part(24)?, part(60)?, part(60)?);
    Some(hours * 3600 + minutes * 60 + seconds)
}

/// A number with so many digits, and nothing else.
fn number(token: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit());
    token
        .parse()
        .ok()
        .filter(|_| plain && digits.contains(&token.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_all_three_forms_are_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "06-november-1994 8:49:37",
        ] {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("31 Dec 1969 23:59:59"), Some(-1));
        assert_eq!(seconds("1 Mar 69 0:0:0"), seconds("1 Mar 2069 00:00:00"));
    }

    #[test]
    fn what_is_no_date_has_no_seconds() {
        for text in [
            "",
            "0",
            "-1",
            "06 Nov 1994",
            "06 Nov 1994 24:00:00",
            "06 Foo 1994 08:49:37",
            "06 Nov 1500 08:49:37",
            "06 Növ 1994 08:49:37",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
