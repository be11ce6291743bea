//! The part of protobuf that small messages need: fields with numbers and with bytes.

/// Appends `value` as a varint.
pub fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Add a field with a number.
    #[must_use]
    pub fn number(mut self, field: u32, value: u64) -> Self {
        varint(u64::from(field) << 3, &mut self.0);
        varint(value, &mut self.0);
        self
    }

    /// Add a field with bytes.
    #[must_use]
    pub fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        varint(u64::from(field) << 3 | 2, &mut self.0);
        varint(value.len() as u64, &mut self.0);
        self.0.extend_from_slice(value);
        self
    }

    /// The message.
    pub fn done(self) -> Vec<u8> {
        self.0
    }
}

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Of a field with a number.
    Number(u64),
    /// Of a field with bytes.
    Bytes(&'a [u8]),
}

/// The fields of a message, up to its end or to where it is broken.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Of `message`.
    pub fn new(message: &'a [u8]) -> Self {
        Fields(message)
    }

    /// The last number in `field`.
    pub fn number(self, field: u32) -> Option<u64> {
        self.filter_map(|(found, value)| match value {
            Value::Number(number) if found == field => Some(number),
            _ => None,
        })
        .last()
    }

    /// The last bytes in `field`.
    pub fn bytes(self, field: u32) -> Option<&'a [u8]> {
        self.filter_map(|(found, value)| match value {
            Value::Bytes(bytes) if found == field => Some(bytes),
            _ => None,
        })
        .last()
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&digit, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(digit & 0x7f) << shift;
            if digit & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.varint()?;
        let field = u32::try_from(key >> 3).ok()?;
        match key & 7 {
            0 => Some((field, Value::Number(self.varint()?))),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Some((field, Value::Bytes(bytes)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let message = Writer::default()
            .number(1, 300)
            .bytes(2, b"ab")
            .number(1, u64::MAX)
            .done();
        assert_eq!(&message[..7], b"\x08\xac\x02\x12\x02ab");
        let fields = Fields::new(&message);
        assert_eq!(fields.number(1), Some(u64::MAX));
        assert_eq!(fields.bytes(2), Some(&b"ab"[..]));
        assert_eq!((fields.number(2), fields.bytes(3)), (None, None));
    }

    #[test]
    fn a_broken_message_ends_where_it_breaks() {
        for broken in [&b"\x12\x05ab"[..], b"\x80", b"\x09aaaaaaaa", &[0xff; 11]] {
            assert_eq!(Fields::new(broken).count(), 0);
        }
    }
}
