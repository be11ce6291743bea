//! The answers that a peer is owed: to pings, settings and other messages of its connection.

/// Most answers that wait for the socket to take them, as in nghttp2: a peer that asks for more and
/// takes none would fill the memory.
pub const MOST: u32 = 1000;

/// A count of the answers that the socket has not taken yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owed(u32);

impl Owed {
    /// Count one more.
    ///
    /// # Errors
    /// The rule that the peer breaks, if there are too many.
    pub fn add(&mut self) -> Result<(), &'static str> {
        self.0 += 1;
        match self.0 > MOST {
            true => Err("the server asks for more than 1000 replies and takes none"),
            false => Ok(()),
        }
    }

    /// Note that the socket has taken all of them.
    pub fn taken(&mut self) {
        self.0 = 0;
    }
}
