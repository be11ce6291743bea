//! One request of a log.

use http::uri::PathAndQuery;

use super::fault::Fault;
use super::stamp::Stamp;

/// A request, and what the log says of its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Its time in nanoseconds: since 1970 as it is read, then since the log's first.
    pub at: u64,
    /// True if the log gives no fraction of the second.
    pub whole_second: bool,
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub path: String,
    /// Its headers, without those that every request makes anew.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Sent,
    /// The answer's status.
    pub status: Option<u16>,
    /// Bytes of the answer's body.
    pub size: Option<u64>,
}

/// The body of a request, as far as its log has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// It has none.
    Nothing,
    /// Its length.
    Size(usize),
    /// All of it.
    Bytes(Vec<u8>),
}

/// Longest body that is made for its logged length: more is no request but a mistake.
const LONGEST: u64 = 64 << 20;

/// Headers that are about a connection or are composed anew.
const OWN: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

impl Entry {
    /// A request without headers, body and answer.
    ///
    /// # Errors
    /// When `method` or `url` cannot be those of a request.
    pub fn new(stamp: Stamp, method: &str, url: &str) -> Result<Self, Fault> {
        let valid: Result<http::Method, _> = method.parse();
        if valid.is_err() || method == "CONNECT" {
            return Err(format!("{method:?} cannot be sent"));
        }
        Ok(Entry {
            at: stamp.at,
            whole_second: stamp.whole,
            method: method.into(),
            path: path(url)?,
            headers: Vec::new(),
            body: Sent::Nothing,
            status: None,
            size: None,
        })
    }

    /// Add a header, unless it is one that each request makes anew.
    ///
    /// # Errors
    /// When it is none.
    pub fn add_header(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        // Pseudo-headers of HTTP/2 begin with a colon.
        if name.starts_with(':') || OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        let valid =
            http::HeaderName::try_from(name).is_ok() && http::HeaderValue::try_from(value).is_ok();
        if !valid {
            return Err(format!("{name:?} cannot be a header"));
        }
        self.headers.push((name.into(), value.into()));
        Ok(())
    }

    /// Say how long the body was, unless it is known itself.
    ///
    /// # Errors
    /// When no request is so long.
    pub fn body_size(&mut self, size: u64) -> Result<(), Fault> {
        if size > LONGEST {
            return Err(format!("a body of {size} bytes"));
        }
        if self.body == Sent::Nothing && size > 0 {
            self.body = Sent::Size(size as usize);
        }
        Ok(())
    }
}

/// The path and query of a URL or path.
fn path(url: &str) -> Result<String, Fault> {
    let fault = || format!("{url:?} has no path");
    let path = match url.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => match rest.find(['/', '?']) {
            Some(at) => &rest[at..],
            None => "/",
        },
        _ => url,
    };
    let path = path.split('#').next().unwrap_or_default();
    let mut encoded = String::new();
    if path.starts_with('?') {
        encoded.push('/');
    }
    for byte in path.bytes() {
        // Braces would stand for the number of an object.
        if byte.is_ascii_graphic() && !matches!(byte, b'{' | b'}') {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    let valid: Result<PathAndQuery, _> = encoded.parse();
    match valid {
        Ok(valid) if encoded.starts_with('/') => Ok(valid.as_str().into()),
        _ => Err(fault()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_that_of_a_url_with_odd_bytes_encoded() {
        for (url, expected) in [
            ("/a?b=%20#c", "/a?b=%20"),
            ("http://h:1/a/b?c=http://d/", "/a/b?c=http://d/"),
            ("https://h", "/"),
            ("https://h?q", "/?q"),
            ("/r?to=http://h/", "/r?to=http://h/"),
            ("/ä {key}", "/%C3%A4%20%7Bkey%7D"),
        ] {
            assert_eq!(path(url).unwrap(), expected);
        }
        for url in ["", "*", "a", "h:443", "#"] {
            assert!(path(url).is_err(), "{url}");
        }
    }

    #[test]
    fn headers_of_the_connection_are_left_out() {
        let stamp = Stamp { at: 0, whole: true };
        let mut entry = Entry::new(stamp, "GET", "/").unwrap();
        for name in ["Host", ":authority", "Accept", "content-length"] {
            entry.add_header(name, "1").unwrap();
        }
        assert_eq!(entry.headers, [("Accept".to_string(), "1".to_string())]);
        assert!(entry.add_header("X Y", "1").is_err() && entry.add_header("X", "\n").is_err());
        assert!(Entry::new(stamp, "G T", "/").is_err() && Entry::new(stamp, "", "/").is_err());
        assert!(entry.body_size(LONGEST + 1).is_err());
    }
}
