//! The purpose of an operation: the user data that comes back with its completion.

/// The purpose of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A client, or clients.
    Accept,
    /// The order to stop.
    Stop,
    /// The end of draining.
    Deadline,
    /// A backend's answer.
    Connect,
    /// Bytes from an end.
    Receive,
    /// Bytes to the other end.
    Send,
    /// The end of another operation.
    Cancel,
    /// An operation whose completion needs no action.
    Nothing,
}

const KINDS: [Kind; 8] = [
    Kind::Accept,
    Kind::Stop,
    Kind::Deadline,
    Kind::Connect,
    Kind::Receive,
    Kind::Send,
    Kind::Cancel,
    Kind::Nothing,
];

/// A kind, and the connection and end that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The operation's purpose.
    pub kind: Kind,
    /// The connection; below 2^55.
    pub slot: usize,
    /// Its end, 0 or 1.
    pub end: usize,
}

impl Token {
    /// Of one end of a connection.
    pub fn new(kind: Kind, slot: usize, end: usize) -> Self {
        Self { kind, slot, end }
    }

    /// Of no connection.
    pub fn of(kind: Kind) -> Self {
        Self::new(kind, 0, 0)
    }

    /// Return the token as user data.
    pub fn encode(self) -> u64 {
        (self.kind as u64) << 56 | (self.slot as u64) << 1 | self.end as u64
    }

    /// From user data.
    pub fn decode(word: u64) -> Self {
        let slot = (word & ((1 << 56) - 1)) >> 1;
        Self::new(
            KINDS[(word >> 56) as usize],
            slot as usize,
            (word & 1) as usize,
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_token_comes_back_as_it_was(
            kind in 0..KINDS.len(), slot in 0..1usize << 55, end in 0..2usize
        ) {
            let token = Token::new(KINDS[kind], slot, end);
            prop_assert_eq!(Token::decode(token.encode()), token);
        }
    }
}
