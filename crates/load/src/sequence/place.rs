//! The place of a value in an answer.

use http::HeaderName;

use super::capture::{Capture, Wants};
use super::pointer::Pointer;
use super::set_cookie::SetCookie;
use crate::time::seconds_since_1970;

/// The places that can be written.
pub const ALL: &str = "status, header:NAME, location, cookie:NAME or json:/POINTER";

/// The place of a value in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The status, as three digits.
    Status,
    /// The first header of this name.
    Header(String),
    /// Path and query of the header `Location`.
    Location,
    /// The last cookie of this name that the answer sets.
    Cookie(String),
    /// A value of the JSON in the body.
    Json(Pointer),
}

impl Place {
    /// The place that `text` writes; none if it is none of [`ALL`].
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text, None),
        };
        match (kind, rest) {
            ("status", None) => Some(Place::Status),
            ("location", None) => Some(Place::Location),
            ("header", Some(name)) => {
                let valid = HeaderName::try_from(name).is_ok();
                valid.then(|| Place::Header(name.into()))
            }
            ("cookie", Some(name)) => {
                let valid = HeaderName::try_from(name).is_ok();
                valid.then(|| Place::Cookie(name.into()))
            }
            ("json", Some(pointer)) => Pointer::parse(pointer).map(Place::Json),
            _ => None,
        }
    }

    /// The parts of an answer that it needs.
    pub fn wants(&self) -> Wants {
        Wants {
            head: matches!(self, Place::Header(_) | Place::Location | Place::Cookie(_)),
            body: matches!(self, Place::Json(_)),
        }
    }

    /// Append the value of an answer; return false if it has none.
    pub fn find(&self, status: u16, capture: &Capture, out: &mut Vec<u8>) -> bool {
        let value = match self {
            Place::Status => {
                out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
                return true;
            }
            Place::Json(pointer) => {
                let body = capture.body();
                return body.is_some_and(|body| pointer.find(body, out));
            }
            Place::Location => {
                let location = capture.fields(b"location").next();
                return location.is_some_and(|location| path(location, out));
            }
            Place::Header(name) => capture.fields(name.as_bytes()).next(),
            Place::Cookie(name) => {
                let set = capture.fields(b"set-cookie").filter_map(|header| {
                    SetCookie::parse(header, seconds_since_1970)
                        .filter(|cookie| cookie.name == name.as_bytes())
                });
                set.last()
                    .filter(|cookie| !cookie.gone)
                    .map(|cookie| cookie.value)
            }
        };
        value.is_some_and(|value| {
            out.extend_from_slice(value);
            true
        })
    }
}

/// Append path and query of a URL, whatever its host, or of a reference that begins with `/`; return
/// false for any other.
fn path(location: &[u8], out: &mut Vec<u8>) -> bool {
    let end = location.iter().position(|byte| *byte == b'#');
    let whole = &location[..end.unwrap_or(location.len())];
    let at_host = match whole.windows(3).position(|part| part == b"://") {
        // A URL in a query is no scheme.
        Some(at) if at > 0 && whole[..at].iter().all(u8::is_ascii_alphanumeric) => {
            Some(&whole[at + 3..])
        }
        _ => whole.strip_prefix(b"//"),
    };
    let path = match at_host {
        Some(rest) => {
            let host = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
            &rest[host.unwrap_or(rest.len())..]
        }
        None if whole.starts_with(b"/") => whole,
        None => return false,
    };
    if !path.starts_with(b"/") {
        out.push(b'/');
    }
    out.extend_from_slice(path);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(place: &str, head: &str, body: &str) -> Option<String> {
        let place = Place::parse(place).expect("a place");
        let mut capture = Capture::default();
        capture.begin(place.wants());
        capture.take_head(format!("HTTP/1.1 302 Found\r\n{head}\r\n\r\n").as_bytes());
        capture.take_body(body.as_bytes());
        let mut out = Vec::new();
        let found = place.find(302, &capture, &mut out);
        found.then(|| String::from_utf8(out).expect("text"))
    }

    #[test]
    fn each_place_has_its_value() {
        let head = "X-Id: 7\r\nset-cookie: sid=a; Path=/\r\nSet-Cookie: sid=b\r\nSet-Cookie: old=; Max-Age=0";
        let at = |place| find(place, head, r#"{"data": {"id": 5}}"#);
        assert_eq!(at("status").as_deref(), Some("302"));
        assert_eq!(at("header:x-id").as_deref(), Some("7"));
        assert_eq!(at("cookie:sid").as_deref(), Some("b"));
        assert_eq!(at("json:/data/id").as_deref(), Some("5"));
        for place in [
            "header:id",
            "cookie:SID",
            "cookie:old",
            "location",
            "json:/data",
        ] {
            assert_eq!(at(place), None, "{place}");
        }
    }

    #[test]
    fn a_location_is_a_path() {
        for (location, path) in [
            ("/a?b=c#d", Some("/a?b=c")),
            ("https://h:8/a/b", Some("/a/b")),
            ("http://h", Some("/")),
            ("http://h?q", Some("/?q")),
            ("//h/a", Some("/a")),
            ("/login?next=http://h/x", Some("/login?next=http://h/x")),
            ("a/b", None),
            ("?q", None),
            ("", None),
            ("#a", None),
        ] {
            let found = find("location", &format!("Location: {location}"), "");
            assert_eq!(found.as_deref(), path, "{location}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in [
            "",
            "body",
            "status:1",
            "header",
            "header:",
            "header:a b",
            "cookie:",
            "json",
            "json:a",
            "Location",
        ] {
            assert_eq!(Place::parse(text), None, "{text}");
        }
        assert!(Place::parse("json:").is_some());
    }
}
