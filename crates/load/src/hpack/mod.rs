//! HPACK, the compression of headers in HTTP/2 (RFC 7541). [`integer`] and [`huffman`] are QPACK's
//! too.

mod decoder;
pub mod encoder;
pub mod huffman;
pub mod integer;
mod static_table;
mod table;

pub use decoder::{Decoder, Effect, Scratch};

/// The error of a header block; the connection cannot continue after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ends in the middle.
    Cut,
    /// An integer is absurdly large or long.
    Integer,
    /// A string is no Huffman code.
    Huffman,
    /// An index points to no entry.
    Index,
    /// The table is resized above the offered size, or in the middle of a block.
    Resize,
    /// The fields are longer than any server sends.
    TooLong,
}

impl Fault {
    /// The fault in a few words.
    pub const fn why(self) -> &'static str {
        match self {
            Fault::Cut => "a header block is cut short",
            Fault::Integer => "an integer in a header block is too large",
            Fault::Huffman => "a header is not valid Huffman code",
            Fault::Index => "a header's index points to no entry",
            Fault::Resize => "a header block resizes the table wrongly",
            Fault::TooLong => "the headers are too long",
        }
    }
}
