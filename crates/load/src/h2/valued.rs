//! A request with values of a user's.

use super::frame;
use crate::crowd::valued::{self, Coding};
use crate::hpack::encoder;
use crate::keys::Keys;
use crate::sequence::user::User;

/// Fields as HPACK writes them.
#[derive(Clone, Copy, Debug)]
pub struct Hpack;

impl Coding for Hpack {
    fn field(name: &str, value: &[u8], out: &mut Vec<u8>) {
        encoder::field(name, value, out);
    }

    fn name(name: &str, out: &mut Vec<u8>) {
        encoder::name(name, out);
    }

    fn string(value: &[u8], out: &mut Vec<u8>) {
        encoder::string(value, out);
    }
}

/// A request with places for values.
pub type Valued = valued::Valued<Hpack>;

/// Buffers of a thread for header blocks.
#[derive(Debug, Default)]
pub struct Buffers {
    pub(super) block: Vec<u8>,
    value: Vec<u8>,
}

impl Valued {
    /// Append the frames of the header block for `stream` with a user's values and cookies, and the
    /// next of `keys`; put the body into `body`. With `shrunk`, the block says that it uses no
    /// table.
    pub fn write(
        &self,
        (stream, shrunk): (u32, bool),
        (user, body): (&User, &mut Vec<u8>),
        keys: &mut Keys,
        Buffers { block, value }: &mut Buffers,
        out: &mut Vec<u8>,
    ) {
        block.clear();
        if shrunk {
            encoder::no_table(block);
        }
        self.fields((user, &mut *body), keys, value, block);
        frame::header_block(block, stream, body.is_empty(), out);
    }
}
