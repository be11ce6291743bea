//! One response, read from the bytes of its stream (RFC 9114, sections 4.1 and 7).

use super::qpack;
use super::varint::Varint;
use crate::cache_header::CacheHeader;
use crate::expectation::{BodyCheck, Expectation};
use crate::protocol::Failure;

/// Frames that a request's stream may carry.
const DATA: u64 = 0x0;
const HEADERS: u64 = 0x1;

/// Longest header section that is still read, in bytes.
const MAX_SECTION: u64 = 64 * 1024;

/// Most bytes of everything but the body.
const MAX_OVERHEAD: u64 = 256 * 1024;

/// The error of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The connection cannot continue.
    Connection(&'static str),
    /// Only this response is invalid.
    Stream(&'static str),
}

/// The reader of one response.
#[derive(Debug)]
pub struct Response {
    at: At,
    number: Varint,
    section: Vec<u8>,
    /// True for the answer to a HEAD request, which has no body whatever its `content-length`.
    bodiless: bool,
    status: u16,
    /// The body's length by `content-length`.
    length: Option<u64>,
    /// True once the trailers have come.
    trailed: bool,
    cache: CacheHeader,
    hit: Option<bool>,
    overhead: u64,
    bytes: u64,
    body_check: BodyCheck,
}

#[derive(Clone, Copy, Debug)]
enum At {
    Type,
    Length(u64),
    Section(u64),
    Data(u64),
    /// A frame of an unknown type.
    Skip(u64),
}

impl Response {
    /// A reader whose body is judged by `expect`.
    pub fn new(expect: &Expectation, bodiless: bool) -> Self {
        let mut body_check = expect.body_check();
        body_check.begin(expect);
        Response {
            at: At::Type,
            number: Varint::default(),
            section: Vec::new(),
            bodiless,
            status: 0,
            length: None,
            trailed: false,
            cache: CacheHeader::default(),
            hit: None,
            overhead: 0,
            bytes: 0,
            body_check,
        }
    }

    /// The same, with a header about a cache.
    pub fn with_cache_header(self, cache: CacheHeader) -> Self {
        Response { cache, ..self }
    }

    /// Take the next bytes of the stream.
    ///
    /// # Errors
    /// The error in the bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        self.bytes += bytes.len() as u64;
        let mut rest = bytes;
        while let Some((first, others)) = rest.split_first() {
            let left = match self.at {
                At::Type | At::Length(_) => {
                    rest = others;
                    self.count(1)?;
                    if let Some(number) = self.number.feed(*first) {
                        self.begin(number)?;
                    }
                    continue;
                }
                At::Section(left) | At::Data(left) | At::Skip(left) => left,
            };
            let here = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let (piece, later) = rest.split_at(here);
            rest = later;
            self.take(piece, left - here as u64)?;
        }
        Ok(())
    }

    /// The status of a response whose stream has ended.
    ///
    /// # Errors
    /// The part that is missing.
    pub fn end(&self) -> Result<u16, Wrong> {
        if !matches!(self.at, At::Type) || !self.number.is_between() {
            return Err(Wrong::Connection("a stream that ends within a frame"));
        }
        if self.status == 0 {
            return Err(Wrong::Stream("the stream ended before the header"));
        }
        match self.length {
            Some(length) if length != self.body_check.length() => {
                Err(Wrong::Stream("a body shorter than its header says"))
            }
            _ => Ok(self.status),
        }
    }

    /// Bytes of the stream so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the body so far.
    pub fn body(&self) -> u64 {
        self.body_check.length()
    }

    /// True if a header says that a cache had it; none without such a header.
    pub fn hit(&self) -> Option<bool> {
        self.hit
    }

    /// The check of the body, with the parts that values are taken from.
    pub fn body_check(&self) -> &BodyCheck {
        &self.body_check
    }

    /// The way in which the whole response differs from `expect`, if it does.
    pub fn judge(&mut self, expect: &Expectation) -> Option<Failure> {
        expect.judge(self.status, &mut self.body_check)
    }

    fn begin(&mut self, number: u64) -> Result<(), Wrong> {
        let At::Length(kind) = self.at else {
            self.at = At::Length(number);
            return Ok(());
        };
        self.at = match kind {
            DATA if self.status == 0 => return Err(Wrong::Connection("a body before its header")),
            DATA | HEADERS if self.trailed => {
                return Err(Wrong::Connection("frames after the trailers"));
            }
            DATA => At::Data(number),
            HEADERS if number > MAX_SECTION => {
                return Err(Wrong::Connection("the headers are too long"));
            }
            HEADERS => At::Section(number),
            // Frames of the control stream, pushes, and those of HTTP/2.
            0x2..=0x9 | 0xd => {
                return Err(Wrong::Connection(
                    "a frame that is not allowed on this stream",
                ));
            }
            _ => At::Skip(number),
        };
        self.take(&[], number)
    }

    /// Take a piece of a frame's payload, with `left` bytes to come after it.
    fn take(&mut self, piece: &[u8], left: u64) -> Result<(), Wrong> {
        match &mut self.at {
            At::Section(rest) => {
                *rest = left;
                self.section.extend_from_slice(piece);
                self.count(piece.len() as u64)?;
                if left == 0 {
                    self.at = At::Type;
                    let section = std::mem::take(&mut self.section);
                    return self.head(&section);
                }
            }
            At::Data(rest) => {
                *rest = left;
                self.body_check.update(piece);
                if self
                    .length
                    .is_some_and(|length| self.body_check.length() > length)
                {
                    return Err(Wrong::Stream("a body longer than its header says"));
                }
            }
            At::Skip(rest) => {
                *rest = left;
                self.count(piece.len() as u64)?;
            }
            At::Type | At::Length(_) => {}
        }
        if left == 0 {
            self.at = At::Type;
        }
        Ok(())
    }

    fn head(&mut self, section: &[u8]) -> Result<(), Wrong> {
        let keeps = self.body_check.draft().is_some();
        let mut fields = Vec::new();
        let (first, body_check) = (self.status == 0, &mut self.body_check);
        let keep = |name: &[u8], value: &[u8]| {
            if keeps {
                fields.push((name.to_vec(), value.to_vec()));
            }
            if first {
                body_check.field(name, value);
            }
        };
        let read = qpack::read(section, &self.cache, keep);
        let head = read.map_err(|fault| Wrong::Connection(fault.why()))?;
        match (self.status, head.status) {
            _ if head.wrong.is_some() => Err(Wrong::Stream(head.wrong.unwrap_or_default())),
            (0, 0) => Err(Wrong::Stream("a response without a status")),
            (0, 101) => Err(Wrong::Stream(
                "a switch of protocols, which HTTP/3 does not allow",
            )),
            (0, 100..200) => {
                // No value is taken from an interim response.
                self.body_check.reset();
                Ok(())
            }
            (0, status) => {
                self.status = status;
                self.hit = head.hit;
                let empty = self.bodiless || matches!(status, 204 | 304);
                self.length = if empty { Some(0) } else { head.length };
                self.keep(&fields);
                Ok(())
            }
            (_, 0) => {
                self.trailed = true;
                self.keep(&fields);
                Ok(())
            }
            _ => Err(Wrong::Stream("invalid trailers")),
        }
    }

    /// Keep fields, if the answer is kept.
    fn keep(&mut self, fields: &[(Vec<u8>, Vec<u8>)]) {
        if let Some(draft) = self.body_check.draft() {
            let fields = fields.iter();
            fields.for_each(|(name, value)| draft.field(name, value));
        }
    }

    fn count(&mut self, bytes: u64) -> Result<(), Wrong> {
        self.overhead += bytes;
        // The frames around a large body are many, but shorter than it.
        if self.overhead > MAX_OVERHEAD + self.body_check.length() {
            return Err(Wrong::Connection("endless frames without a body"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::varint;
    use super::*;

    fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        varint::write(kind, &mut bytes);
        varint::write(payload.len() as u64, &mut bytes);
        bytes.extend_from_slice(payload);
        bytes
    }

    fn head(length: Option<&[u8]>) -> Vec<u8> {
        let mut section = vec![0, 0, 0xd9];
        if let Some(length) = length {
            qpack::named(4, length, &mut section);
        }
        frame(HEADERS, &section)
    }

    fn read(frames: &[&[u8]], cuts: &[usize]) -> Result<(u16, u64), Wrong> {
        let mut response = Response::new(&Expectation::default(), false);
        let bytes = frames.concat();
        let mut rest = &bytes[..];
        for cut in cuts.iter().copied().chain([usize::MAX]) {
            let (piece, later) = rest.split_at(cut.min(rest.len()));
            response.feed(piece)?;
            rest = later;
        }
        Ok((response.end()?, response.body_check.length()))
    }

    #[test]
    fn responses_are_read() {
        let (body, grease) = (frame(DATA, b"hello"), frame(0x21, b"??"));
        let (empty, trailers) = (frame(DATA, b""), frame(HEADERS, &[0, 0]));
        let interim = frame(HEADERS, &[0, 0, 0xd8]);
        assert_eq!(read(&[&head(None), &body], &[]), Ok((200, 5)));
        assert_eq!(
            read(&[&head(Some(b"10")), &body, &grease, &body], &[]),
            Ok((200, 10))
        );
        assert_eq!(
            read(&[&grease, &interim, &head(None), &empty, &trailers], &[]),
            Ok((200, 0))
        );
    }

    #[test]
    fn what_is_no_response_is_refused() {
        let (body, head, trailers) = (
            frame(DATA, b"hello"),
            head(Some(b"5")),
            frame(HEADERS, &[0, 0]),
        );
        for (frames, connection) in [
            (&[][..], false),
            (&[&body[..]], true),
            (&[&head[..]], false),
            (&[&head[..], &body, &body], false),
            (&[&head[..], &body[..3]], true),
            (&[&head[..], &body, &trailers, &body], true),
            (&[&head[..], &head], false),
            (&[&head[..], &frame(0x4, b"")], true),
            (&[&head[..], &frame(0x5, b"")], true),
            (&[&frame(HEADERS, &[0, 0, 0x80])], true),
            (&[&frame(HEADERS, &vec![0; 70_000])], true),
        ] {
            match read(frames, &[]) {
                Err(Wrong::Connection(_)) => assert!(connection, "{frames:?}"),
                Err(Wrong::Stream(_)) => assert!(!connection, "{frames:?}"),
                Ok(_) => panic!("{frames:?}"),
            }
        }
        assert!(read(&[&frame(0x21, b"").repeat(200_000)], &[]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(2), failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn pieces_do_not_matter(size in 0usize..300, cuts in prop::collection::vec(1usize..40, 0..20)) {
            let body = frame(DATA, &vec![b'x'; size]);
            let frames = [&head(None)[..], &body, &frame(0x21, b"grease"), &body];
            prop_assert_eq!(read(&frames, &cuts), Ok((200, 2 * size as u64)));
        }

        #[test]
        fn anything_is_read_without_a_crash(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
            let _ = read(&[&bytes], &[cut]);
            let _ = read(&[&head(None), &bytes], &[cut]);
        }
    }
}
