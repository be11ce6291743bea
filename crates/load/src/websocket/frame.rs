//! Frames of WebSocket (RFC 6455, section 5.2).

use crate::protocol::Failure;

/// Kinds of frames.
pub mod opcode {
    #![allow(missing_docs)]

    pub const CONTINUATION: u8 = 0x0;
    pub const TEXT: u8 = 0x1;
    pub const BINARY: u8 = 0x2;
    pub const CLOSE: u8 = 0x8;
    pub const PING: u8 = 0x9;
    pub const PONG: u8 = 0xa;
}

/// Longest frame that is read, in bytes: no message of a load is longer.
const LONGEST: u64 = 1 << 31;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// True if it is the last of its message.
    pub last: bool,
    /// Its kind.
    pub opcode: u8,
    /// Bytes of its payload.
    pub length: u64,
    /// Bytes of the header itself.
    pub size: usize,
}

impl Header {
    /// Return true if it is about the connection, and may stand between the frames of a message.
    pub fn is_control(self) -> bool {
        self.opcode >= opcode::CLOSE
    }
}

/// Reads one header after the other from pieces of any size.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeaderReader {
    bytes: [u8; 10],
    filled: usize,
}

impl HeaderReader {
    /// Take bytes until a header of the server is whole; return it, and how many were taken.
    ///
    /// # Errors
    /// For a header that a server must not send.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(Option<Header>, usize), Failure> {
        let mut used = 0;
        loop {
            let needed = match (self.filled, self.bytes[1] & 0x7f) {
                (0 | 1, _) => 2,
                (_, 126) => 4,
                (_, 127) => 10,
                _ => 2,
            };
            if self.filled == needed {
                let header = self.whole()?;
                self.filled = 0;
                return Ok((Some(header), used));
            }
            let Some(byte) = bytes.get(used) else {
                return Ok((None, used));
            };
            self.bytes[self.filled] = *byte;
            self.filled += 1;
            used += 1;
        }
    }

    /// Return true if nothing of the next header is read yet.
    pub fn is_between(&self) -> bool {
        self.filled == 0
    }

    fn whole(&self) -> Result<Header, Failure> {
        let [first, second, rest @ ..] = self.bytes;
        let length = match second & 0x7f {
            126 => u64::from(u16::from_be_bytes([rest[0], rest[1]])),
            127 => u64::from_be_bytes(rest),
            length => u64::from(length),
        };
        let header = Header {
            last: first & 0x80 != 0,
            opcode: first & 0x0f,
            length,
            size: self.filled,
        };
        let wrong = if first & 0x70 != 0 {
            Some("a WebSocket frame with an extension that was not asked for")
        } else if second & 0x80 != 0 {
            Some("a WebSocket frame that a server has masked")
        } else if matches!(header.opcode, 0x3..=0x7 | 0xb..) {
            Some("a WebSocket frame of an unknown kind")
        } else if header.is_control() && (length > 125 || !header.last) {
            Some("a WebSocket control frame that is too long or in parts")
        } else if length > LONGEST {
            Some("a WebSocket frame of more than 2 GiB")
        } else {
            None
        };
        wrong.map_or(Ok(header), |why| Err(Failure::read(why)))
    }
}

/// Append a whole frame of a client, its payload masked with `mask`.
pub fn write(opcode: u8, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    out.push(0x80 | opcode);
    match payload.len() {
        length @ 0..126 => out.push(0x80 | length as u8),
        length @ 126..0x1_0000 => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    let start = out.len();
    out.extend_from_slice(payload);
    // Four bytes at a time, which the compiler makes vectors of.
    let mut whole = out[start..].chunks_exact_mut(4);
    for four in &mut whole {
        for (byte, key) in four.iter_mut().zip(mask) {
            *byte ^= key;
        }
    }
    for (byte, key) in whole.into_remainder().iter_mut().zip(mask) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<(Option<Header>, usize), Failure> {
        HeaderReader::default().feed(bytes)
    }

    #[test]
    fn lengths_have_three_forms() {
        for (bytes, length) in [
            (&[0x82, 5][..], 5),
            (&[0x82, 126, 1, 0], 256),
            (&[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0], 65_536),
        ] {
            let header = Header {
                last: true,
                opcode: opcode::BINARY,
                length,
                size: bytes.len(),
            };
            let whole = [bytes, b"rest"].concat();
            assert_eq!(read(&whole), Ok((Some(header), bytes.len())));
            let mut reader = HeaderReader::default();
            for byte in &bytes[..bytes.len() - 1] {
                assert_eq!(reader.feed(&[*byte]), Ok((None, 1)));
            }
            assert_eq!(
                reader.feed(&[bytes[bytes.len() - 1]]),
                Ok((Some(header), 1))
            );
            assert!(reader.is_between());
        }
    }

    #[test]
    fn what_a_server_must_not_send_is_refused() {
        for bytes in [
            &[0xc2, 5][..],
            &[0x82, 0x85],
            &[0x83, 0],
            &[0x8b, 0],
            &[0x89, 126, 0, 126],
            &[0x09, 0],
            &[0x82, 127, 1, 0, 0, 0, 0, 0, 0, 0],
        ] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(9), failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn a_frame_s_payload_comes_back(length in 0usize..70_000, mask: [u8; 4]) {
            let payload: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let mut out = Vec::new();
            write(opcode::BINARY, &payload, mask, &mut out);
            // As a server reads it: without the mask's bit and key, it is one of a server.
            out[1] &= 0x7f;
            let (header, used) = read(&out).expect("a header");
            let header = header.expect("a whole one");
            prop_assert_eq!(header.length as usize, length);
            let unmasked = out[used + 4..].iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key);
            prop_assert!(unmasked.eq(payload));
        }
    }
}
