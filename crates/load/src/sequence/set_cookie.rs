//! The value of a `Set-Cookie` header (RFC 6265, section 5.2).

use std::str::from_utf8;

use super::cookie_date;

/// A cookie as an answer sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetCookie<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
    /// True if it is to be deleted.
    pub gone: bool,
}

impl<'a> SetCookie<'a> {
    /// Read a header's value at `now`, in seconds since 1970; none if it sets no cookie.
    pub fn parse(header: &'a [u8], now: impl Fn() -> i64) -> Option<Self> {
        let mut parts = header.split(|byte| *byte == b';');
        let (name, value) = pair(parts.next()?)?;
        let broken = |byte: &u8| byte.is_ascii_control();
        if name.is_empty() || name.iter().chain(value).any(broken) {
            return None;
        }
        let (mut by_age, mut by_date) = (None, None);
        for (name, value) in parts.filter_map(pair) {
            let text = from_utf8(value).unwrap_or_default();
            if name.eq_ignore_ascii_case(b"max-age") {
                by_age = is_over(text).or(by_age);
            } else if name.eq_ignore_ascii_case(b"expires") {
                by_date = cookie_date::seconds(text)
                    .map(|until| until <= now())
                    .or(by_date);
            }
        }
        Some(SetCookie {
            name,
            value,
            // Max-Age has precedence.
            gone: by_age.or(by_date).unwrap_or(false),
        })
    }
}

/// Return true if a Max-Age deletes; none if it is no number.
fn is_over(age: &str) -> Option<bool> {
    let digits = age.strip_prefix('-').unwrap_or(age);
    let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let nothing = digits.len() < age.len() || digits.bytes().all(|byte| byte == b'0');
    number.then_some(nothing)
}

/// A name and a value, without white space around them.
fn pair(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = part.iter().position(|byte| *byte == b'=')?;
    Some((part[..at].trim_ascii(), part[at + 1..].trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(header: &str) -> Option<(String, bool)> {
        let cookie = SetCookie::parse(header.as_bytes(), || 1_000_000_000)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some((text(cookie.name) + "=" + &text(cookie.value), cookie.gone))
    }

    #[test]
    fn a_cookie_has_a_name_and_a_value() {
        for (header, wanted) in [
            ("a=b", "a=b"),
            (" a = b=c ; Path=/; HttpOnly", "a=b=c"),
            ("a=", "a="),
            ("a=\"q\"; Secure", "a=\"q\""),
        ] {
            assert_eq!(parse(header), Some((wanted.into(), false)), "{header}");
        }
        for header in ["", "a", "=b", "; a=b", "a=\u{1}", "a\t=b\r\nX: y"] {
            assert_eq!(parse(header), None, "{header:?}");
        }
    }

    #[test]
    fn an_age_of_none_or_a_date_in_the_past_deletes() {
        for (rest, gone) in [
            ("Max-Age=0", true),
            ("max-age=-5", true),
            ("Max-Age=60", false),
            ("Max-Age=x", false),
            ("Max-Age=", false),
            ("Expires=Thu, 01 Jan 1970 00:00:00 GMT", true),
            ("expires=Sat, 01-Jan-2050 00:00:00 GMT", false),
            ("Expires=never", false),
            ("Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", false),
            ("Expires=Sat, 01 Jan 2050 00:00:00 GMT; Max-Age=0", true),
        ] {
            assert_eq!(
                parse(&format!("a=b; {rest}")),
                Some(("a=b".into(), gone)),
                "{rest}"
            );
        }
    }
}
