//! The streams that the server opens (RFC 9114, sections 6.2 and 7.2).

use quinn_proto::StreamId;

use super::varint::{self, Varint};

/// Types of streams.
const CONTROL: u64 = 0x0;
const PUSH: u64 = 0x1;

/// Types of frames.
const DATA: u64 = 0x0;
const HEADERS: u64 = 0x1;
const SETTINGS: u64 = 0x4;
const PUSH_PROMISE: u64 = 0x5;
const GOAWAY: u64 = 0x7;

/// Longest frame that is read, in bytes.
const LONGEST: u64 = 16 * 1024;

/// Append the client's control stream: its type, and settings that offer nothing.
pub fn hello(out: &mut Vec<u8>) {
    varint::write(CONTROL, out);
    varint::write(SETTINGS, out);
    varint::write(0, out);
}

/// One stream that the server has opened.
#[derive(Debug)]
pub struct ServerStream {
    /// Its number.
    pub id: StreamId,
    kind: Option<u64>,
    number: Varint,
    frame: Option<u64>,
    left: Option<u64>,
    payload: Vec<u8>,
    settled: bool,
}

/// A message of the server's control stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// A message that needs no action.
    Nothing,
    /// It takes no more requests, and answers only those on streams below this number.
    GoAway(u64),
}

impl ServerStream {
    /// A stream from which nothing is read yet.
    pub fn new(id: StreamId) -> Self {
        ServerStream {
            id,
            kind: None,
            number: Varint::default(),
            frame: None,
            left: None,
            payload: Vec::new(),
            settled: false,
        }
    }

    /// Return true if the connection cannot do without the stream.
    pub fn is_control(&self) -> bool {
        self.kind == Some(CONTROL)
    }

    /// Take the next bytes.
    ///
    /// # Errors
    /// The reason why the connection cannot continue.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<ControlEvent, &'static str> {
        let mut event = ControlEvent::Nothing;
        for byte in bytes {
            match (self.kind, self.left) {
                (None, _) => match self.number.feed(*byte) {
                    Some(PUSH) => return Err("a push, although pushes are disabled"),
                    kind => self.kind = kind,
                },
                // QPACK's streams have nothing to say without a dynamic table.
                (Some(kind), _) if kind != CONTROL => return Ok(event),
                (Some(_), None) => {
                    if let Some(number) = self.number.feed(*byte) {
                        self.begin(number)?;
                    }
                }
                (Some(_), Some(left)) => {
                    self.payload.push(*byte);
                    self.left = Some(left - 1);
                }
            }
            if self.left == Some(0) {
                if let ControlEvent::GoAway(id) = self.whole()? {
                    event = ControlEvent::GoAway(id);
                }
            }
        }
        Ok(event)
    }

    fn begin(&mut self, number: u64) -> Result<(), &'static str> {
        let Some(frame) = self.frame else {
            self.frame = Some(number);
            return Ok(());
        };
        match frame {
            SETTINGS if self.settled => return Err("a second SETTINGS frame"),
            SETTINGS => self.settled = true,
            _ if !self.settled => return Err("a control stream that does not begin with SETTINGS"),
            DATA | HEADERS | PUSH_PROMISE | 0x2 | 0x6 | 0x8 | 0x9 => {
                return Err("a frame that is not allowed on this stream");
            }
            _ => {}
        }
        if number > LONGEST {
            return Err("a control frame that is too long");
        }
        self.left = Some(number);
        Ok(())
    }

    fn whole(&mut self) -> Result<ControlEvent, &'static str> {
        let frame = self.frame.take();
        self.left = None;
        let payload = std::mem::take(&mut self.payload);
        if frame != Some(GOAWAY) {
            return Ok(ControlEvent::Nothing);
        }
        let mut number = Varint::default();
        let ids: Vec<u64> = payload
            .iter()
            .filter_map(|byte| number.feed(*byte))
            .collect();
        match ids[..] {
            [id] if number.is_between() => Ok(ControlEvent::GoAway(id)),
            _ => Err("an invalid GOAWAY"),
        }
    }
}

#[cfg(test)]
mod tests {
    use quinn_proto::{Dir, Side};

    use super::*;

    fn feed(bytes: &[u8]) -> Result<ControlEvent, &'static str> {
        let mut stream = ServerStream::new(StreamId::new(Side::Server, Dir::Uni, 0));
        let mut event = ControlEvent::Nothing;
        for byte in bytes {
            if let goaway @ ControlEvent::GoAway(_) = stream.feed(&[*byte])? {
                event = goaway;
            }
        }
        assert_eq!(ServerStream::new(stream.id).feed(bytes), Ok(event));
        Ok(event)
    }

    #[test]
    fn settings_and_farewells_are_read() {
        let mut own = Vec::new();
        hello(&mut own);
        assert_eq!(feed(&own), Ok(ControlEvent::Nothing));
        assert_eq!(feed(&[0, 4, 2, 1, 0, 7, 1, 8]), Ok(ControlEvent::GoAway(8)));
        assert_eq!(
            feed(&[0, 4, 0, 0x21, 3, 1, 2, 3, 7, 1, 0]),
            Ok(ControlEvent::GoAway(0))
        );
        assert_eq!(feed(&[2, 0x3f, 0xe1, 0x1f]), Ok(ControlEvent::Nothing));
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        for bytes in [
            &[1][..],
            &[0, 7, 1, 0],
            &[0, 4, 0, 4, 0],
            &[0, 4, 0, 0, 1, 1],
            &[0, 4, 0, 7, 0],
            &[0, 4, 0, 7, 2, 1, 1],
            &[0, 4, 0x80, 0xff, 0xff, 0xff],
        ] {
            assert!(feed(bytes).is_err(), "{bytes:?}");
        }
    }
}
