//! The frames of HTTP/2 (RFC 9113, sections 4 and 6), as bytes.

/// Bytes of a frame's header.
pub const HEADER: usize = 9;

/// Largest payload that we accept: the default, as with h2load, so that a server has the same work
/// with both.
pub const MAX_PAYLOAD: usize = 16_384;

/// The largest stream identifier, and the largest window.
pub const MAX_31: u32 = 0x7fff_ffff;

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the payload.
    pub length: usize,
    /// One of [`kind`], or another that is to be ignored.
    pub kind: u8,
    /// The bits that the kind defines among [`flag`].
    pub flags: u8,
    /// The stream, or 0 for the connection.
    pub stream: u32,
}

/// Frame types.
#[allow(missing_docs)]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames.
#[allow(missing_docs)]
pub mod flag {
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

/// Error codes (RFC 9113, section 7).
#[allow(missing_docs)]
pub mod code {
    pub const NO_ERROR: u32 = 0;
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const REFUSED_STREAM: u32 = 7;
    pub const CANCEL: u32 = 8;
    pub const ENHANCE_YOUR_CALM: u32 = 11;
}

impl Header {
    /// Read a header; ignore its reserved bit.
    pub fn read(bytes: &[u8; HEADER]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        Header {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & MAX_31,
        }
    }

    /// Append the header to `out`.
    pub fn write(self, out: &mut Vec<u8>) {
        let [_, a, b, c] = (self.length as u32).to_be_bytes();
        let [d, e, f, g] = self.stream.to_be_bytes();
        out.extend_from_slice(&[a, b, c, self.kind, self.flags, d, e, f, g]);
    }

    /// Return true if the flag is set.
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Append a frame without flags whose payload is one number.
fn numbered(kind: u8, stream: u32, number: u32, out: &mut Vec<u8>) {
    Header {
        length: 4,
        kind,
        flags: 0,
        stream,
    }
    .write(out);
    out.extend_from_slice(&number.to_be_bytes());
}

/// Append RST_STREAM.
pub fn reset(stream: u32, code: u32, out: &mut Vec<u8>) {
    numbered(kind::RST_STREAM, stream, code, out);
}

/// Append WINDOW_UPDATE.
pub fn window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    numbered(kind::WINDOW_UPDATE, stream, increment, out);
}

/// Append the acknowledgement of a SETTINGS or PING frame with this payload.
pub fn acknowledge(kind: u8, payload: &[u8], out: &mut Vec<u8>) {
    Header {
        length: payload.len(),
        kind,
        flags: flag::ACK,
        stream: 0,
    }
    .write(out);
    out.extend_from_slice(payload);
}

/// The number that `bytes` begin with, for payloads of a known length.
pub fn number(bytes: &[u8]) -> u32 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Append a whole header block in as many frames as it needs, for `stream`.
pub fn header_block(block: &[u8], stream: u32, end_stream: bool, out: &mut Vec<u8>) {
    let mut pieces = block.chunks(MAX_PAYLOAD).peekable();
    let mut kind = kind::HEADERS;
    let mut flags = if end_stream { flag::END_STREAM } else { 0 };
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            flags |= flag::END_HEADERS;
        }
        Header {
            length: piece.len(),
            kind,
            flags,
            stream,
        }
        .write(out);
        out.extend_from_slice(piece);
        (kind, flags) = (kind::CONTINUATION, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_as_written() {
        let header = Header {
            length: 0x1_0203,
            kind: 4,
            flags: 5,
            stream: 0x0607_0809,
        };
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        bytes[5] |= 0x80;
        assert_eq!(Header::read(bytes.first_chunk().unwrap()), header);
    }
}
