//! Variable-length integers, as protobuf writes them (protobuf.dev, "Encoding").

use crate::protocol::Failure;

/// Append `value`: seven bits a byte, the lowest first, the top bit says that more follow.
pub fn write(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A reader that takes one byte after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Varint {
    value: u64,
    bits: u32,
}

impl Varint {
    /// Take a byte; return the number if it was the last one.
    ///
    /// # Errors
    /// For more than 64 bits.
    pub fn feed(&mut self, byte: u8) -> Result<Option<u64>, Failure> {
        let low = u64::from(byte & 0x7f);
        if self.bits > 63 || (self.bits == 63 && low > 1) {
            return Err(Failure::read("a length of more than 64 bits"));
        }
        self.value |= low << self.bits;
        self.bits += 7;
        Ok((byte < 0x80).then_some(self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Option<u64>, Failure> {
        let mut varint = Varint::default();
        for byte in bytes {
            if let Some(value) = varint.feed(*byte)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, 1 << 35, u64::MAX] {
            let mut bytes = Vec::new();
            write(value, &mut bytes);
            assert_eq!(read(&bytes), Ok(Some(value)));
            assert_eq!(read(&bytes[..bytes.len() - 1]), Ok(None));
        }
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        assert!(read(&[0xff; 10]).is_err());
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert!(read(&most).is_err());
    }
}
