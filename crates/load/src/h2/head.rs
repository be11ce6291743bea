//! What a header block of a response says that matters here (RFC 9113, section 8).

use crate::hpack::{Decoder, Fault, Scratch};

/// A response's header block, or its trailers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code; 0 in trailers.
    pub status: u16,
    /// What `content-length` says.
    pub length: Option<u64>,
    /// What makes the response malformed.
    pub wrong: Option<&'static str>,
}

/// Reads the header blocks of one connection, and remembers the last one: most answers of a run have
/// the very same, as long as the server's date does not change.
#[derive(Debug, Default)]
pub struct HeadReader {
    decoder: Decoder,
    /// A block that did not change the decoder's table, and the table's version that it was for.
    last: Vec<u8>,
    meaning: Option<(Head, u64)>,
}

impl HeadReader {
    /// What the whole `block` says.
    ///
    /// # Errors
    /// What is wrong with the connection from now on.
    pub fn read(&mut self, block: &[u8], scratch: &mut Scratch) -> Result<Head, Fault> {
        let version = self.decoder.version();
        match self.meaning {
            Some((head, known)) if known == version && block == self.last => return Ok(head),
            _ => {}
        }
        let mut reading = Reading::default();
        self.decoder
            .decode(block, scratch, |name, value| reading.field(name, value))?;
        let head = reading.head;
        if self.decoder.version() == version {
            self.last.clear();
            self.last.extend_from_slice(block);
            self.meaning = Some((head, version));
        }
        Ok(head)
    }
}

/// Reads the fields of one block.
#[derive(Debug)]
pub struct Reading {
    /// What they say so far.
    pub head: Head,
    /// Whether a field came that is no pseudo-header.
    regular: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Reading {
            head: Head {
                status: 0,
                length: None,
                wrong: None,
            },
            regular: false,
        }
    }
}

impl Reading {
    /// Takes the next field.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        if let Err(why) = self.take(name, value) {
            self.head.wrong.get_or_insert(why);
        }
    }

    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if name.first() == Some(&b':') {
            if name != b":status" || self.regular || self.head.status != 0 {
                return Err("a pseudo-header that no response has, or not there");
            }
            self.head.status = status(value).ok_or("a status that is none")?;
            return Ok(());
        }
        self.regular = true;
        let forbidden = |byte: &u8| matches!(byte, 0..=b' ' | b'A'..=b'Z' | b':' | 0x7f..);
        if name.is_empty() || name.iter().any(forbidden) {
            return Err("a header's name that is none");
        }
        if value
            .iter()
            .any(|byte| matches!(byte, b'\0' | b'\r' | b'\n'))
        {
            return Err("a header with a line break");
        }
        match name {
            b"content-length" => {
                let length = decimal(value).ok_or("a content-length that is none")?;
                if self.head.length.is_some_and(|known| known != length) {
                    return Err("two content-lengths");
                }
                self.head.length = Some(length);
                Ok(())
            }
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => Err("a header that HTTP/2 forbids"),
            _ => Ok(()),
        }
    }
}

fn status(value: &[u8]) -> Option<u16> {
    let code = decimal(value).filter(|code| value.len() == 3 && *code >= 100)?;
    u16::try_from(code).ok()
}

fn decimal(value: &[u8]) -> Option<u64> {
    // `parse` alone would take a sign.
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(value).ok()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::{encoder, integer};

    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        for (name, value) in fields {
            encoder::field(name, value.as_bytes(), &mut block);
        }
        block
    }

    fn read(fields: &[(&str, &str)]) -> Head {
        let mut scratch = Scratch::default();
        HeadReader::default()
            .read(&block(fields), &mut scratch)
            .expect("a block")
    }

    #[test]
    fn finds_status_and_length() {
        let head = read(&[(":status", "200"), ("content-length", "12"), ("x", "y")]);
        assert_eq!(
            head,
            Head {
                status: 200,
                length: Some(12),
                wrong: None
            }
        );
        let head = read(&[("x", "y")]);
        assert_eq!(
            head,
            Head {
                status: 0,
                length: None,
                wrong: None
            }
        );
    }

    #[test]
    fn knows_malformed_responses() {
        for fields in [
            &[(":status", "20")][..],
            &[(":status", "+20")],
            &[(":status", "099")],
            &[(":status", "200"), (":status", "200")],
            &[(":path", "/")],
            &[("x", "y"), (":status", "200")],
            &[(":status", "200"), ("content-length", "-1")],
            &[
                (":status", "200"),
                ("content-length", "1"),
                ("content-length", "2"),
            ],
            &[(":status", "200"), ("X", "y")],
            &[(":status", "200"), ("", "y")],
            &[(":status", "200"), ("x", "a\r\nb")],
            &[(":status", "200"), ("transfer-encoding", "chunked")],
        ] {
            assert!(read(fields).wrong.is_some(), "{fields:?}");
        }
    }

    #[test]
    fn a_remembered_block_is_only_for_the_same_table() {
        let mut reader = HeadReader::default();
        let mut scratch = Scratch::default();
        let mut status = |block: &[u8]| reader.read(block, &mut scratch).map(|head| head.status);
        let insert = |code: &[u8]| {
            let mut block = vec![0x48];
            integer::write(code.len() as u64, 7, 0, &mut block);
            block.extend_from_slice(code);
            block
        };
        assert_eq!(status(&insert(b"201")), Ok(201));
        // The newest entry, again and again, until it is another one.
        assert_eq!(status(&[0xbe]), Ok(201));
        assert_eq!(status(&[0xbe]), Ok(201));
        assert_eq!(status(&insert(b"404")), Ok(404));
        assert_eq!(status(&[0xbe]), Ok(404));
        // A table of no size forgets it, and then remembers no insertion.
        assert_eq!(status(&[&[0x20][..], &insert(b"503")].concat()), Ok(503));
        assert_eq!(status(&insert(b"503")), Ok(503));
        assert_eq!(status(&insert(b"503")), Ok(503));
        assert_eq!(status(&[0xbe]), Err(Fault::Index));
    }
}
