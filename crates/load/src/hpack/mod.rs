//! HPACK, the compression of headers in HTTP/2 (RFC 7541). [`integer`] and [`huffman`] are QPACK's
//! too.

mod decoder;
pub mod encoder;
pub mod huffman;
pub mod integer;
mod static_table;
mod table;

pub use decoder::{Decoder, Effect, Scratch};

/// What is wrong with a header block; the connection cannot go on after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ends in the middle.
    Cut,
    /// An integer is absurdly large or long.
    Integer,
    /// A string is no Huffman code.
    Huffman,
    /// An index points to nothing.
    Index,
    /// The table is resized above what was offered, or in the middle of a block.
    Resize,
    /// The fields are more than anybody sends.
    TooLong,
}

impl Fault {
    /// In a few words for people.
    pub const fn why(self) -> &'static str {
        match self {
            Fault::Cut => "a header block is cut short",
            Fault::Integer => "an integer in a header block is too large",
            Fault::Huffman => "a header is no Huffman code",
            Fault::Index => "a header's index points to nothing",
            Fault::Resize => "a header block resizes the table wrongly",
            Fault::TooLong => "the headers are too long",
        }
    }
}
