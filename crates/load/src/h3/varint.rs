//! QUIC's integers of variable length (RFC 9000, section 16): the two top bits of the first byte tell
//! how many bytes there are.

/// Append `value`, which is below 2^62.
pub fn write(value: u64, out: &mut Vec<u8>) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// A reader that takes one byte after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Varint {
    value: u64,
    left: Option<u8>,
}

impl Varint {
    /// Take a byte; return the number if it was the last one. The reader then starts afresh.
    pub fn feed(&mut self, byte: u8) -> Option<u64> {
        let left = match self.left {
            None => {
                self.value = u64::from(byte & 0x3f);
                (1 << (byte >> 6)) - 1
            }
            Some(left) => {
                self.value = self.value << 8 | u64::from(byte);
                left - 1
            }
        };
        self.left = (left > 0).then_some(left);
        (left == 0).then_some(self.value)
    }

    /// Return true if no number is half read.
    pub fn is_between(self) -> bool {
        self.left.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let mut reader = Varint::default();
        for value in [
            0,
            37,
            63,
            64,
            15_293,
            16_383,
            16_384,
            494_878_333,
            1 << 30,
            (1 << 62) - 1,
        ] {
            let mut bytes = Vec::new();
            write(value, &mut bytes);
            let (last, first) = bytes.split_last().unwrap();
            assert!(first.iter().all(|byte| reader.feed(*byte).is_none()));
            assert_eq!(reader.is_between(), first.is_empty());
            assert_eq!(reader.feed(*last), Some(value));
        }
    }

    #[test]
    fn reads_the_examples_of_the_rfc() {
        // RFC 9000, appendix A.1.
        let read = |bytes: &[u8]| {
            let mut reader = Varint::default();
            bytes.iter().find_map(|byte| reader.feed(*byte))
        };
        let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(read(&eight), Some(151_288_809_941_952_652));
        assert_eq!(read(&[0x9d, 0x7f, 0x3e, 0x7d]), Some(494_878_333));
        assert_eq!(read(&[0x7b, 0xbd]), Some(15_293));
        assert_eq!(read(&[0x40, 0x25]), Some(37));
    }
}
