//! The settings of both sides (RFC 9113, sections 3.4 and 6.5).

use super::frame::{self, Header, MAX_31, kind};

/// Window for the server's data, of each stream and of the connection: as large as h2load's.
pub const WINDOW: u32 = (1 << 30) - 1;

/// The window of either side before it is changed.
const FIRST_WINDOW: u32 = 65_535;

/// HPACK's default table size.
const FIRST_TABLE: u32 = 4_096;

/// Settings' identifiers.
mod id {
    pub const HEADER_TABLE_SIZE: u16 = 1;
    pub const ENABLE_PUSH: u16 = 2;
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
}

/// Append a client's first bytes: the preface, its settings, and the connection's window.
pub fn hello(out: &mut Vec<u8>) {
    out.extend_from_slice(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let settings = [(id::ENABLE_PUSH, 0), (id::INITIAL_WINDOW_SIZE, WINDOW)];
    Header {
        length: 6 * settings.len(),
        kind: kind::SETTINGS,
        flags: 0,
        stream: 0,
    }
    .write(out);
    for (id, value) in settings {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
    frame::window_update(0, WINDOW - FIRST_WINDOW, out);
}

/// The server's settings.
#[derive(Debug)]
pub struct Peer {
    /// True once its settings have come; until then, one stream at a time is safe.
    pub settled: bool,
    /// Most streams at a time.
    pub max_streams: u32,
    /// A stream's first window.
    pub window: u32,
    /// Largest payload of a frame.
    pub max_payload: usize,
    table: Table,
}

/// The state of HPACK's table for requests, which ours do not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    /// Both sides assume its first size.
    Full,
    /// The server wants a smaller one, which the next header block must agree to.
    Shrinks,
    /// The server has been told that there is none.
    None,
}

impl Default for Peer {
    fn default() -> Self {
        Peer {
            settled: false,
            max_streams: 1,
            window: FIRST_WINDOW,
            max_payload: frame::MAX_PAYLOAD,
            table: Table::Full,
        }
    }
}

impl Peer {
    /// Apply the payload of a SETTINGS frame.
    ///
    /// # Errors
    /// The rule that the payload breaks.
    pub fn apply(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        if payload.len() % 6 != 0 {
            return Err("a SETTINGS frame of a wrong length");
        }
        if !self.settled {
            self.settled = true;
            self.max_streams = u32::MAX;
        }
        for setting in payload.chunks_exact(6) {
            let value = frame::number(&setting[2..]);
            match u16::from_be_bytes([setting[0], setting[1]]) {
                id::HEADER_TABLE_SIZE if value < FIRST_TABLE && self.table == Table::Full => {
                    self.table = Table::Shrinks;
                }
                // A server may not even offer it.
                id::ENABLE_PUSH if value != 0 => return Err("a server that asks for pushes"),
                id::MAX_CONCURRENT_STREAMS => self.max_streams = value,
                id::INITIAL_WINDOW_SIZE if value > MAX_31 => {
                    return Err("an initial window that is too large");
                }
                id::INITIAL_WINDOW_SIZE => self.window = value,
                id::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => {
                    return Err("a maximum frame size out of range");
                }
                id::MAX_FRAME_SIZE => self.max_payload = value as usize,
                _ => {}
            }
        }
        Ok(())
    }

    /// Return true if the next header block must begin by saying that it uses no table (RFC 7541,
    /// section 4.2).
    pub fn shrinks(&mut self) -> bool {
        if self.table != Table::Shrinks {
            return false;
        }
        self.table = Table::None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_settings_and_refuses_wrong_ones() {
        let mut peer = Peer::default();
        assert_eq!(peer.apply(&[0, 3, 0, 0, 0, 7, 0, 99, 1, 1, 1, 1]), Ok(()));
        assert_eq!((peer.max_streams, peer.window), (7, 65_535));
        assert!(!peer.shrinks());
        for (size, shrinks) in [(4096, false), (4095, true), (0, false)] {
            let [.., high, low] = u32::to_be_bytes(size);
            assert_eq!(peer.apply(&[0, 1, 0, 0, high, low]), Ok(()));
            assert_eq!((peer.shrinks(), peer.shrinks()), (shrinks, false));
        }
        for wrong in [
            &[0, 3, 0, 0, 0][..],
            &[0, 2, 0, 0, 0, 1],
            &[0, 4, 0x80, 0, 0, 0],
            &[0, 5, 0, 0, 0x3f, 0xff],
            &[0, 5, 1, 0, 0, 0],
        ] {
            assert!(peer.apply(wrong).is_err(), "{wrong:?}");
        }
    }
}
