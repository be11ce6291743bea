//! A request with values of a user's.

use super::{frame, qpack};
use crate::crowd::seats::Seat;
use crate::crowd::valued::{self, Coding};
use crate::keys::Keys;

/// Fields as QPACK writes them.
#[derive(Clone, Copy, Debug)]
pub struct Qpack;

impl Coding for Qpack {
    fn field(name: &str, value: &[u8], out: &mut Vec<u8>) {
        qpack::field(name, value, out);
    }

    fn name(name: &str, out: &mut Vec<u8>) {
        qpack::name(name, out);
    }

    fn string(value: &[u8], out: &mut Vec<u8>) {
        qpack::string(value, out);
    }
}

/// A request with places for values.
pub type Valued = valued::Valued<Qpack>;

/// Buffers of a thread for header sections.
#[derive(Debug, Default)]
pub struct Buffers {
    pub(super) section: Vec<u8>,
    value: Vec<u8>,
}

impl Valued {
    /// Append the frames with the values and cookies of the user on a `seat`, for the next of
    /// `keys`.
    pub fn write(
        &self,
        Seat { turn, body }: &mut Seat,
        keys: &mut Keys,
        Buffers { section, value }: &mut Buffers,
        out: &mut Vec<u8>,
    ) {
        section.clear();
        qpack::begin(section);
        self.fields((turn.user(), &mut *body), keys, value, section);
        frame::headers(section, out);
        frame::data(body, out);
    }
}
