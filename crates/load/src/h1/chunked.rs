//! The chunked transfer coding (RFC 9112, section 7.1), fed piece by piece.

use super::malformed::Malformed;
use crate::expectation::BodyCheck;

/// Longest run of extensions or trailers that is still read, in bytes.
const MAX_OVERHEAD: usize = 16 * 1024;

const NO_SIZE: Malformed = Malformed("the chunk size is not a number");

/// A decoder of one chunked body.
#[derive(Clone, Debug)]
pub struct Chunked {
    at: At,
    overhead: usize,
}

#[derive(Clone, Copy, Debug)]
enum At {
    FirstDigit,
    Digits(u64),
    Extension(u64),
    SizeLf(u64),
    Data(u64),
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    LastLf,
}

impl Default for Chunked {
    fn default() -> Self {
        Chunked {
            at: At::FirstDigit,
            overhead: 0,
        }
    }
}

impl Chunked {
    /// Take the next bytes and pass the body's part of them to `body_check`; `Some(n)` when the
    /// body ended after `n` of them.
    ///
    /// # Errors
    /// [`Malformed`] for bytes that are not chunked coding, and for endless overhead.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        body_check: &mut BodyCheck,
    ) -> Result<Option<usize>, Malformed> {
        let mut used = 0;
        while used < bytes.len() {
            if let At::Data(left) = self.at {
                let here = (bytes.len() - used).min(usize::try_from(left).unwrap_or(usize::MAX));
                body_check.update(&bytes[used..used + here]);
                used += here;
                self.at = match left - here as u64 {
                    0 => At::DataCr,
                    left => At::Data(left),
                };
                continue;
            }
            let ended = matches!(self.at, At::LastLf);
            self.at = self.step(bytes[used])?;
            used += 1;
            if ended {
                return Ok(Some(used));
            }
        }
        Ok(None)
    }

    fn step(&mut self, byte: u8) -> Result<At, Malformed> {
        let digit = char::from(byte).to_digit(16).map(u64::from);
        Ok(match (self.at, byte) {
            (At::FirstDigit, _) => At::Digits(digit.ok_or(NO_SIZE)?),
            (At::Digits(size) | At::Extension(size), b'\r') => At::SizeLf(size),
            (At::Digits(size), b';' | b' ' | b'\t') => At::Extension(size),
            (At::Digits(size), _) => {
                let more = size
                    .checked_mul(16)
                    .and_then(|size| size.checked_add(digit?));
                At::Digits(more.ok_or(NO_SIZE)?)
            }
            (At::Extension(size), _) if byte != b'\n' => self.skip(At::Extension(size))?,
            (At::SizeLf(0), b'\n') => At::TrailerStart,
            (At::SizeLf(size), b'\n') => At::Data(size),
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::FirstDigit,
            (At::TrailerStart, b'\r') => At::LastLf,
            (At::Trailer, b'\r') => At::TrailerLf,
            (At::TrailerStart | At::Trailer, _) if byte != b'\n' => self.skip(At::Trailer)?,
            (At::TrailerLf, b'\n') => At::TrailerStart,
            (At::LastLf, b'\n') => At::FirstDigit,
            _ => return Err(Malformed("invalid chunked coding")),
        })
    }

    fn skip(&mut self, at: At) -> Result<At, Malformed> {
        self.overhead += 1;
        if self.overhead > MAX_OVERHEAD {
            return Err(Malformed("endless chunk extensions or trailers"));
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectation::Expectation;

    fn decode(bytes: &[u8]) -> Result<Option<(usize, u64)>, Malformed> {
        let mut body_check = Expectation::default().body_check();
        let end = Chunked::default().feed(bytes, &mut body_check)?;
        Ok(end.map(|end| (end, body_check.length())))
    }

    #[test]
    fn reads_sizes_extensions_and_trailers() {
        assert_eq!(decode(b"0\r\n\r\n"), Ok(Some((5, 0))));
        assert_eq!(decode(b"3\r\nabc\r\n0\r\n\r\n+"), Ok(Some((13, 3))));
        let rich = b"00A;x=\"y\"\r\n0123456789\r\n0\r\nT: u\r\nV: w\r\n\r\n";
        assert_eq!(decode(rich), Ok(Some((rich.len(), 10))));
        assert_eq!(decode(b"3\r\nabc\r\n0\r\n"), Ok(None));
    }

    #[test]
    fn refuses_what_is_no_chunked_coding() {
        for bad in [
            &b"\r\n"[..],
            b"x\r\n",
            b"-1\r\n",
            b"3\nabc",
            b"3\r\nabcd",
            b"3\r\nabc\n",
            b"11111111111111111\r\n",
            b"0\r\n\rx",
            b"0\r\nT: u\n",
        ] {
            assert!(decode(bad).is_err(), "{}", bad.escape_ascii());
        }
        let endless = [&b"1;"[..], &[b'x'; MAX_OVERHEAD + 1]].concat();
        assert!(decode(&endless).is_err());
    }
}
