//! The head of a response: its status, and the framing of its body.

use std::mem::MaybeUninit;

use super::malformed::Malformed;
use crate::cache_header::CacheHeader;
use crate::decimal::decimal;

/// Most headers that a head may have.
const MAX_HEADERS: usize = 1024;

/// The parts of a head that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// The way to find the end of the body.
    pub framing: Framing,
    /// True if another request may follow on the connection.
    pub keep_alive: bool,
    /// True if a header says that a cache had it; none without such a header.
    pub hit: Option<bool>,
}

/// The way to find the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// This many bytes.
    Length(u64),
    /// The chunked coding.
    Chunked,
    /// The server closes the connection.
    Close,
}

/// Reads heads, and remembers the last one: most answers of a run have the same head.
#[derive(Debug)]
pub struct HeadReader {
    /// True if the answers have no body, as those to HEAD requests.
    bodiless: bool,
    cache: CacheHeader,
    last: Vec<u8>,
    meaning: Option<Head>,
}

impl HeadReader {
    /// A reader of heads; with `bodiless`, of answers to HEAD requests.
    pub fn new(bodiless: bool) -> Self {
        HeadReader {
            bodiless,
            cache: CacheHeader::default(),
            last: Vec::new(),
            meaning: None,
        }
    }

    /// The same, with heads that have a header about a cache.
    pub fn with_cache_header(self, cache: CacheHeader) -> Self {
        HeadReader { cache, ..self }
    }

    /// The head that `bytes` begin with and its length in bytes; `None` while it is not whole.
    ///
    /// # Errors
    /// [`Malformed`] for bytes that are not a head, or an ambiguous one.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, Malformed> {
        match self.meaning {
            Some(head) if bytes.starts_with(&self.last) => Ok(Some((head, self.last.len()))),
            _ => self.parse(bytes),
        }
    }

    fn parse(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, Malformed> {
        // Left as they are, since clearing them takes longer than reading a usual head.
        let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
        let length = match parsed {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Malformed("more than 1024 headers"));
            }
            Err(_) => return Err(Malformed("not an HTTP/1.1 head")),
        };
        let head = self.interpret(&response)?;
        self.last.clear();
        self.last.extend_from_slice(&bytes[..length]);
        self.meaning = Some(head);
        Ok(Some((head, length)))
    }

    fn interpret(&self, response: &httparse::Response) -> Result<Head, Malformed> {
        let status = response.code.filter(|code| *code >= 100);
        let status = status.ok_or(Malformed("a status below 100"))?;
        let mut length = None;
        let mut hit = None;
        let mut coding = None;
        let mut keep_alive = response.version == Some(1);
        for header in response.headers.iter() {
            if header.name.eq_ignore_ascii_case("content-length") {
                let value =
                    decimal(header.value).ok_or(Malformed("content-length is not a number"))?;
                if length.is_some_and(|length| length != value) {
                    return Err(Malformed("two values of content-length"));
                }
                length = Some(value);
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                coding = tokens(header.value).last().or(coding);
            } else if header.name.eq_ignore_ascii_case("connection") {
                for token in tokens(header.value) {
                    if token.eq_ignore_ascii_case(b"close") {
                        keep_alive = false;
                    } else if token.eq_ignore_ascii_case(b"keep-alive") {
                        keep_alive = true;
                    }
                }
            } else if let Some(found) = self.cache.hit(header.name.as_bytes(), header.value) {
                hit = Some(found);
            }
        }
        let framing = match (coding, length) {
            _ if self.bodiless || matches!(status, 100..200 | 204 | 304) => Framing::Length(0),
            // Both at once is how responses are smuggled (RFC 9112, section 6.3).
            (Some(_), Some(_)) => {
                return Err(Malformed("content-length beside transfer-encoding"));
            }
            (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Framing::Chunked,
            (None, Some(length)) => Framing::Length(length),
            (_, None) => Framing::Close,
        };
        Ok(Head {
            status,
            framing,
            keep_alive: keep_alive && framing != Framing::Close,
            hit,
        })
    }
}

/// Call `keep` with each header of a whole head.
pub fn fields(head: &[u8], mut keep: impl FnMut(&[u8], &[u8])) {
    let mut headers = vec![httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    if response.parse(head).is_ok() {
        let headers = response.headers.iter();
        headers.for_each(|header| keep(header.name.as_bytes(), header.value));
    }
}

/// The elements of a comma-separated header value.
fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Head>, Malformed> {
        let found = HeadReader::new(false).read(text.as_bytes());
        found.map(|found| found.map(|(head, _)| head))
    }

    fn framing(headers: &str) -> Result<Framing, Malformed> {
        let head = read(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n"))?;
        Ok(head.expect("a whole head").framing)
    }

    #[test]
    fn finds_the_framing() {
        assert_eq!(framing("Content-Length: 12\r\n"), Ok(Framing::Length(12)));
        assert_eq!(
            framing("content-length: 1\r\nContent-Length: 1\r\n"),
            Ok(Framing::Length(1))
        );
        assert_eq!(
            framing("Transfer-Encoding: gzip, Chunked\r\n"),
            Ok(Framing::Chunked)
        );
        assert_eq!(framing("Transfer-Encoding: gzip\r\n"), Ok(Framing::Close));
        assert_eq!(framing(""), Ok(Framing::Close));
    }

    #[test]
    fn refuses_ambiguous_lengths() {
        for bad in [
            "Content-Length: +1\r\n",
            "Content-Length: \r\n",
            "Content-Length: 1, 1\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        ] {
            assert!(framing(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn takes_many_headers_and_refuses_more() {
        let many = |count| framing(&("A: b\r\n".repeat(count) + "Content-Length: 3\r\n"));
        assert_eq!(many(MAX_HEADERS - 1), Ok(Framing::Length(3)));
        let why = "more than 1024 headers";
        assert_eq!(many(MAX_HEADERS), Err(Malformed(why)));
    }

    #[test]
    fn knows_whether_the_connection_stays() {
        let keep_alive = |text: &str| read(text).unwrap().unwrap().keep_alive;
        assert!(keep_alive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
        assert!(!keep_alive(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n"
        ));
        assert!(!keep_alive("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
        assert!(keep_alive(
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"
        ));
        assert!(!keep_alive("HTTP/1.1 200 OK\r\n\r\n"));
    }

    #[test]
    fn a_remembered_head_is_only_for_the_same_bytes() {
        let mut reader = HeadReader::new(false);
        let mut length = |text: &str| reader.read(text.as_bytes()).unwrap().unwrap().0.framing;
        for size in [5, 5, 6, 5] {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\nabcde");
            assert_eq!(length(&text), Framing::Length(size));
        }
    }
}
