//! Numbers of digits alone, as protocols write lengths and codes.

/// The number that `digits` write; none for anything else, such as a sign.
pub fn decimal(digits: &[u8]) -> Option<u64> {
    // `parse` alone would take a sign.
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(decimal(b"0012"), Some(12));
        assert_eq!(decimal(u64::MAX.to_string().as_bytes()), Some(u64::MAX));
        for bad in ["", "+1", "-1", " 1", "1x", "18446744073709551616"] {
            assert_eq!(decimal(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
