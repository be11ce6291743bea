//! Byte ranges of RFC 9110, section 14.

/// The part of an object that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// All of it; also for what is no single range of bytes, which a server may ignore.
    Whole,
    /// From the first offset up to, and without, the second.
    Part(u64, u64),
    /// No part that the object has.
    Unsatisfiable,
}

/// Read a `Range` header for an object of `size` bytes.
pub fn parse(header: Option<&str>, size: u64) -> Range {
    let Some((first, last)) = header
        .and_then(|text| text.trim().strip_prefix("bytes="))
        .and_then(|text| text.trim().split_once('-'))
    else {
        return Range::Whole;
    };
    match (number(first), number(last)) {
        (Some(first), None) if last.is_empty() => part(first, size, size),
        (Some(first), Some(last)) if first <= last => part(first, last.saturating_add(1), size),
        (None, Some(last)) if first.is_empty() => part(size.saturating_sub(last), size, size),
        _ => Range::Whole,
    }
}

fn part(start: u64, end: u64, size: u64) -> Range {
    let end = end.min(size);
    if start < end {
        Range::Part(start, end)
    } else {
        Range::Unsatisfiable
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number that is too large is still a number.
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_standard() {
        for (text, expected) in [
            ("bytes=0-0", Range::Part(0, 1)),
            ("bytes=10-19", Range::Part(10, 20)),
            ("bytes=90-", Range::Part(90, 100)),
            ("bytes=-10", Range::Part(90, 100)),
            ("bytes=-1000", Range::Part(0, 100)),
            ("bytes=50-1000", Range::Part(50, 100)),
            ("bytes=0-99999999999999999999999", Range::Part(0, 100)),
            ("bytes=100-", Range::Unsatisfiable),
            ("bytes=-0", Range::Unsatisfiable),
            ("bytes=20-10", Range::Whole),
            ("bytes=0-1,5-6", Range::Whole),
            ("bytes=-", Range::Whole),
            ("bytes=+1-2", Range::Whole),
            ("items=0-1", Range::Whole),
        ] {
            assert_eq!(parse(Some(text), 100), expected, "{text}");
        }
        assert_eq!(parse(None, 100), Range::Whole);
        assert_eq!(parse(Some("bytes=0-"), 0), Range::Unsatisfiable);
    }
}
