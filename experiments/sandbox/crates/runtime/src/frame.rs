//! Frames as protobuf delimits messages: the length as a varint, then as many bytes.

use thiserror::Error;

/// Bytes of the longest length that is read: 32 bits.
const LENGTH_BYTES: u32 = 5;

/// The most that is set aside for a frame before its bytes have come.
const AHEAD: usize = 1 << 20;

/// A frame that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A length of more than 32 bits.
    #[error("a length of more than 32 bits")]
    Overflow,
    /// A length over the limit.
    #[error("{length} bytes announced, at most {limit} allowed")]
    TooLong {
        /// The announced length.
        length: u32,
        /// The allowed length.
        limit: usize,
    },
}

/// Reads frames from bytes that come in pieces, none longer than its limit.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    length: u32,
    digits: u32,
    /// Bytes that the frame has in all, once its length is read.
    whole: Option<usize>,
    body: Vec<u8>,
}

impl Decoder {
    /// For frames of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Decoder {
            limit,
            length: 0,
            digits: 0,
            whole: None,
            body: Vec::new(),
        }
    }

    /// Return true if nothing of a frame has come yet.
    pub fn is_idle(&self) -> bool {
        self.digits == 0 && self.whole.is_none()
    }

    /// Return the bytes of memory that the frame has so far.
    pub fn held(&self) -> usize {
        self.body.capacity()
    }

    /// Take bytes from the front of `bytes` until a frame is whole or there are no more.
    ///
    /// # Errors
    ///
    /// When the frame's length is not allowed; nothing can be read after it.
    pub fn feed(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, FrameError> {
        while self.whole.is_none() {
            let Some((&digit, rest)) = bytes.split_first() else {
                return Ok(None);
            };
            *bytes = rest;
            self.digit(digit)?;
        }
        let whole = self.whole.unwrap_or_default();
        let (here, rest) = bytes.split_at(bytes.len().min(whole - self.body.len()));
        self.body.extend_from_slice(here);
        *bytes = rest;
        if self.body.len() < whole {
            return Ok(None);
        }
        (self.length, self.digits, self.whole) = (0, 0, None);
        Ok(Some(std::mem::take(&mut self.body)))
    }

    fn digit(&mut self, digit: u8) -> Result<(), FrameError> {
        let value = u32::from(digit & 0x7f);
        if self.digits == LENGTH_BYTES - 1 && digit > 0x0f {
            return Err(FrameError::Overflow);
        }
        self.length |= value << (7 * self.digits);
        self.digits += 1;
        if digit & 0x80 == 0 {
            let (length, limit) = (self.length, self.limit);
            let whole = length as usize;
            if whole > limit {
                return Err(FrameError::TooLong { length, limit });
            }
            self.body.reserve_exact(whole.min(AHEAD));
            self.whole = Some(whole);
        }
        Ok(())
    }
}

/// The length of a frame with `length` bytes, as it goes before them, and how many bytes of it count.
///
/// # Panics
///
/// When the frame has 4 GiB or more.
pub fn prefix(length: usize) -> ([u8; LENGTH_BYTES as usize], usize) {
    let mut left = u32::try_from(length).expect("a frame of less than 4 GiB");
    let mut digits = [0; LENGTH_BYTES as usize];
    let mut used = 0;
    loop {
        digits[used] = (left & 0x7f) as u8;
        left >>= 7;
        if left == 0 {
            return (digits, used + 1);
        }
        digits[used] |= 0x80;
        used += 1;
    }
}

/// `body` as a frame.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let (digits, used) = prefix(body.len());
    [&digits[..used], body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    fn read(limit: usize, pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut decoder = Decoder::new(limit);
        let mut found = Vec::new();
        for piece in pieces {
            let mut rest = *piece;
            while !rest.is_empty() {
                found.extend(decoder.feed(&mut rest)?);
            }
        }
        Ok(found)
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(4), ..ProptestConfig::with_cases(256) })]

        #[test]
        fn frames_in_any_pieces_are_the_same(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..5), cut in 1usize..50,
        ) {
            let wire: Vec<u8> = bodies.iter().flat_map(|body| frame(body)).collect();
            let pieces: Vec<&[u8]> = wire.chunks(cut).collect();
            prop_assert_eq!(read(400, &pieces), Ok(bodies));
        }

        #[test]
        fn any_bytes_are_read_or_refused_alike_in_any_pieces(wire in prop::collection::vec(any::<u8>(), 0..60), cut in 1usize..9) {
            let pieces: Vec<&[u8]> = wire.chunks(cut).collect();
            prop_assert_eq!(read(40, &pieces), read(40, &[&wire]));
        }
    }

    #[test]
    fn a_frame_may_be_as_long_as_the_limit_and_no_longer() {
        assert_eq!(read(3, &[b"\x03abc"]), Ok(vec![b"abc".to_vec()]));
        let refused = FrameError::TooLong {
            length: 4,
            limit: 3,
        };
        assert_eq!(read(3, &[b"\x04"]), Err(refused));
    }

    #[test]
    fn lengths_have_at_most_32_bits() {
        let longest = [0xff, 0xff, 0xff, 0xff, 0x0f];
        let refused = FrameError::TooLong {
            length: u32::MAX,
            limit: 9,
        };
        assert_eq!(read(9, &[&longest]), Err(refused));
        assert_eq!(
            read(9, &[b"\xff\xff\xff\xff\x10"]),
            Err(FrameError::Overflow)
        );
        assert_eq!(read(9, &[&[0x80; 10]]), Err(FrameError::Overflow));
    }

    #[test]
    fn a_length_with_needless_digits_counts() {
        assert_eq!(read(9, &[b"\x81\x80\x00a"]), Ok(vec![b"a".to_vec()]));
    }

    #[test]
    fn what_is_announced_is_not_set_aside_at_once() {
        let mut decoder = Decoder::new(usize::MAX);
        assert_eq!(
            decoder.feed(&mut &[0xff, 0xff, 0xff, 0xff, 0x0f][..]),
            Ok(None)
        );
        assert!(decoder.body.capacity() <= AHEAD);
    }
}
