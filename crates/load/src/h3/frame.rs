//! The frames of requests (RFC 9114, section 7.2).

use super::varint;

const DATA: u64 = 0x0;
const HEADERS: u64 = 0x1;

/// Append the frame of a header section.
pub fn headers(section: &[u8], out: &mut Vec<u8>) {
    varint::write(HEADERS, out);
    varint::write(section.len() as u64, out);
    out.extend_from_slice(section);
}

/// Append the frame of a body, if there is one.
pub fn data(body: &[u8], out: &mut Vec<u8>) {
    if !body.is_empty() {
        varint::write(DATA, out);
        varint::write(body.len() as u64, out);
        out.extend_from_slice(body);
    }
}
