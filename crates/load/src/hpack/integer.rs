//! Integers with a prefix (RFC 7541, section 5.1), common to HPACK and QPACK.

use super::Fault;

/// Largest value that is read: that of a QUIC integer, and far above any length or index.
const MAX: u64 = (1 << 62) - 1;

/// Read the integer that starts in the low `prefix` bits of the first byte; return it and its
/// length in bytes.
///
/// # Errors
/// [`Fault::Cut`] when it goes on behind the last byte, [`Fault::Integer`] above 2^62 − 1.
pub fn read(bytes: &[u8], prefix: u32) -> Result<(u64, usize), Fault> {
    let full = (1 << prefix) - 1;
    let first = u64::from(*bytes.first().ok_or(Fault::Cut)?) & full;
    if first < full {
        return Ok((first, 1));
    }
    let mut value = full;
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        let shift = 7 * (at as u32 - 1);
        let digit = u64::from(byte & 0x7f);
        // Ten bytes hold 63 bits and more; a longer row could only pad with zeros.
        if shift > 56 {
            return Err(Fault::Integer);
        }
        value += digit << shift;
        if value > MAX {
            return Err(Fault::Integer);
        }
        if byte & 0x80 == 0 {
            return Ok((value, at + 1));
        }
    }
    Err(Fault::Cut)
}

/// Append `value` with a prefix of `prefix` bits; `flags` are the bits above them.
pub fn write(value: u64, prefix: u32, flags: u8, out: &mut Vec<u8>) {
    let full = (1 << prefix) - 1;
    if value < full {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | full as u8);
    let mut rest = value - full;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_the_examples_of_the_rfc() {
        // RFC 7541, appendix C.1.
        assert_eq!(read(&[0b0110_1010], 5), Ok((10, 1)));
        assert_eq!(
            read(&[0b0001_1111, 0b1001_1010, 0b0000_1010], 5),
            Ok((1337, 3))
        );
        assert_eq!(read(&[0b0010_1010], 8), Ok((42, 1)));
    }

    #[test]
    fn refuses_what_is_cut_or_endless() {
        assert_eq!(read(&[], 5), Err(Fault::Cut));
        assert_eq!(read(&[0x1f], 5), Err(Fault::Cut));
        assert_eq!(read(&[0x1f, 0x80], 5), Err(Fault::Cut));
        assert_eq!(
            read(&[[0xff; 1].as_slice(), &[0xff; 40]].concat(), 7),
            Err(Fault::Integer)
        );
        assert_eq!(
            read(&[[0xff; 1].as_slice(), &[0x80; 40]].concat(), 7),
            Err(Fault::Integer)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(7),
            failure_persistence: None,
            ..ProptestConfig::with_cases(2000)
        })]

        #[test]
        fn what_was_written_is_read(value in 0..=MAX, shift in 0u32..62, prefix in 1u32..=8) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            write(value, prefix, 0, &mut bytes);
            let length = bytes.len();
            bytes.push(0xff);
            prop_assert_eq!(read(&bytes, prefix), Ok((value, length)));
        }
    }
}
