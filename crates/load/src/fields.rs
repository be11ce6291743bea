//! Header fields of HTTP/2 and HTTP/3 (RFC 9113, section 8; RFC 9114, section 4): those of a
//! request, and the ones that matter in a response.

use http::{HeaderName, HeaderValue};

use crate::cache_header::CacheHeader;
use crate::decimal::decimal;
use crate::spec::SpecError;
use crate::target::Target;

/// Headers that are about the connection, which these versions leave to their frames.
const FORBIDDEN: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// The fields of one request.
#[derive(Clone, Debug)]
pub struct Fields {
    /// The value of `:authority`.
    pub authority: Vec<u8>,
    /// All fields but the pseudo-headers, with names in lower case.
    pub others: Vec<(HeaderName, HeaderValue)>,
}

impl Fields {
    /// The fields of `headers`, with `content-length` unless they have it; `host` becomes the
    /// authority.
    ///
    /// # Errors
    /// A [`SpecError`] that names the header which is not allowed.
    pub fn new(
        target: &Target,
        headers: &[(String, String)],
        body: Option<&[u8]>,
    ) -> Result<Self, SpecError> {
        let mut authority = target.authority.clone().into_bytes();
        let mut others = Vec::new();
        for (name, text) in headers {
            let name = check(name)?;
            let value = value(name.as_str(), text)?;
            if name == http::header::HOST {
                authority = text.clone().into_bytes();
            } else {
                others.push((name, value));
            }
        }
        check_framing(headers, body.unwrap_or_default().len())?;
        let given = |name: &HeaderName| others.iter().any(|(other, _)| other == name);
        if let Some(body) = body.filter(|_| !given(&http::header::CONTENT_LENGTH)) {
            others.push((http::header::CONTENT_LENGTH, HeaderValue::from(body.len())));
        }
        Ok(Fields { authority, others })
    }
}

/// Refuse headers of HTTP/1.1 that would frame a request in another way than its body.
///
/// # Errors
/// A [`SpecError`] that names the header.
pub fn check_framing(headers: &[(String, String)], length: usize) -> Result<(), SpecError> {
    for (name, value) in headers {
        let wrong = match name.to_ascii_lowercase().as_str() {
            "transfer-encoding" => true,
            "content-length" => decimal(value.as_bytes()) != Some(length as u64),
            _ => false,
        };
        if wrong {
            let found = format!("{name}: {value} for a body that is sent as {length} bytes");
            return Err(SpecError::new("headers", found, "leave it out"));
        }
    }
    let hosts = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    match hosts.count() > 1 {
        true => Err(SpecError::new(
            "headers",
            "Host more than once",
            "write it once",
        )),
        false => Ok(()),
    }
}

/// A header's value.
///
/// # Errors
/// A [`SpecError`] when HTTP allows it in no version.
pub fn value(name: &str, text: &str) -> Result<HeaderValue, SpecError> {
    HeaderValue::try_from(text).map_err(|_| {
        let found = format!("{name}: {text:?} has a control character in its value");
        SpecError::new("headers", found, "take it out")
    })
}

fn check(name: &str) -> Result<HeaderName, SpecError> {
    let found = |what| format!("{name:?} {what}");
    let name = HeaderName::try_from(name).map_err(|_| {
        SpecError::new(
            "headers",
            found("is not a header name"),
            "write it as x-name",
        )
    })?;
    if FORBIDDEN.contains(&name.as_str()) {
        let found = found("is not allowed in this version of HTTP");
        return Err(SpecError::new("headers", found, "take it out"));
    }
    Ok(name)
}

/// A response's header block, or its trailers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code; 0 in trailers.
    pub status: u16,
    /// The value of `content-length`.
    pub length: Option<u64>,
    /// True if a header says that a cache had it; none without such a header.
    pub hit: Option<bool>,
    /// The value of `grpc-status`.
    pub grpc: Option<u16>,
    /// The rule that the response breaks, if any.
    pub wrong: Option<&'static str>,
}

/// Reads the fields of one block.
#[derive(Debug)]
pub struct Reading<'a> {
    cache: &'a CacheHeader,
    /// The fields' meaning so far.
    pub head: Head,
    /// True once a field other than a pseudo-header has come.
    regular: bool,
}

impl<'a> Reading<'a> {
    /// Begin to read a block, which may have a header about a cache.
    pub fn new(cache: &'a CacheHeader) -> Self {
        Reading {
            cache,
            head: Head {
                status: 0,
                length: None,
                hit: None,
                grpc: None,
                wrong: None,
            },
            regular: false,
        }
    }

    /// Take the next field.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        if let Err(why) = self.take(name, value) {
            self.head.wrong.get_or_insert(why);
        }
    }

    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if name.first() == Some(&b':') {
            if name != b":status" || self.regular || self.head.status != 0 {
                return Err("a pseudo-header that is unknown or misplaced");
            }
            self.head.status = status(value).ok_or("an invalid status")?;
            return Ok(());
        }
        self.regular = true;
        let forbidden = |byte: &u8| matches!(byte, 0..=b' ' | b'A'..=b'Z' | b':' | 0x7f..);
        if name.is_empty() || name.iter().any(forbidden) {
            return Err("an invalid header name");
        }
        if value
            .iter()
            .any(|byte| matches!(byte, b'\0' | b'\r' | b'\n'))
        {
            return Err("a header with a line break");
        }
        match name {
            b"content-length" => {
                let length = decimal(value).ok_or("an invalid content-length")?;
                if self.head.length.is_some_and(|known| known != length) {
                    return Err("two values of content-length");
                }
                self.head.length = Some(length);
                Ok(())
            }
            b"grpc-status" => {
                // A code that is none is one that nobody knows.
                let code = decimal(value).and_then(|code| u16::try_from(code).ok());
                self.head.grpc = Some(code.unwrap_or(u16::MAX));
                Ok(())
            }
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => Err("a header that HTTP/2 forbids"),
            _ => {
                self.head.hit = self.cache.hit(name, value).or(self.head.hit);
                Ok(())
            }
        }
    }
}

fn status(value: &[u8]) -> Option<u16> {
    let code = decimal(value).filter(|code| value.len() == 3 && *code >= 100)?;
    u16::try_from(code).ok()
}
