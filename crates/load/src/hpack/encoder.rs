//! Header fields that any decoder understands at any time: they neither use nor change its dynamic
//! table, so that the same bytes serve every request of every connection.
//!
//! Strings are sent as they are. The Huffman code would make a request some tens of bytes shorter,
//! and cost the server more than it saves.

use super::integer;
use super::static_table::STATIC;

/// Append one field: an index if the static table has it, else a literal without indexing (RFC
/// 7541, sections 6.1 and 6.2.2).
pub fn field(key: &str, value: &[u8], out: &mut Vec<u8>) {
    let same = |(known, text): &(&str, &str)| *known == key && text.as_bytes() == value;
    if let Some(index) = STATIC.iter().position(same) {
        integer::write(index as u64 + 1, 7, 0b1000_0000, out);
        return;
    }
    name(key, out);
    string(value, out);
}

/// Append the beginning of a literal without indexing, behind which its value must follow.
pub fn name(name: &str, out: &mut Vec<u8>) {
    match STATIC.iter().position(|(known, _)| *known == name) {
        Some(index) => integer::write(index as u64 + 1, 4, 0, out),
        None => {
            out.push(0);
            string(name.as_bytes(), out);
        }
    }
}

/// Append the order to empty the dynamic table and keep it so (RFC 7541, section 6.3); it may only
/// stand in front of a block.
pub fn no_table(out: &mut Vec<u8>) {
    integer::write(0, 5, 0b0010_0000, out);
}

/// Append a string without the Huffman code (RFC 7541, section 5.2).
pub fn string(bytes: &[u8], out: &mut Vec<u8>) {
    integer::write(bytes.len() as u64, 7, 0, out);
    out.extend_from_slice(bytes);
}
