//! The bytes of a request, composed once.

use http::{HeaderName, Method};

use crate::expectation;
use crate::fields;
use crate::keys::{Keys, PLACE};
use crate::spec::SpecError;
use crate::target::Target;

/// A request, and its expected answer.
pub type Exchange = expectation::Exchange<Request>;

/// A request, whose path may have the number of an object in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    start: Vec<u8>,
    /// The bytes after the object's number, if there is one.
    rest: Option<Vec<u8>>,
}

impl Request {
    /// Append the request for the next of `keys`.
    pub fn write(&self, keys: &mut Keys, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.start);
        if let Some(rest) = &self.rest {
            out.extend_from_slice(itoa::Buffer::new().format(keys.draw()).as_bytes());
            out.extend_from_slice(rest);
        }
    }
}

/// A request of `method` for `target`, with `Host` and `Content-Length` unless `headers` has them.
///
/// # Errors
/// A [`SpecError`] that names the header which HTTP does not allow.
pub fn compose(
    target: &Target,
    method: &Method,
    headers: &[(String, String)],
    body: Option<&[u8]>,
) -> Result<Request, SpecError> {
    fields::check_framing(headers, body.unwrap_or_default().len())?;
    let line = format!("{method} {} HTTP/1.1\r\n", target.path);
    let lines_below = lines(target, headers, body)?;
    Ok(match line.split_once(PLACE) {
        None => Request {
            start: [line.as_bytes(), &lines_below].concat(),
            rest: None,
        },
        Some((start, rest)) => Request {
            start: start.into(),
            rest: Some([rest.as_bytes(), &lines_below].concat()),
        },
    })
}

/// The lines of a request below the first, and its body.
fn lines(
    target: &Target,
    headers: &[(String, String)],
    body: Option<&[u8]>,
) -> Result<Vec<u8>, SpecError> {
    let mut bytes = header_lines(target, headers)?;
    if let Some(body) = body.filter(|_| !given(headers, "content-length")) {
        add(
            "Content-Length",
            body.len().to_string().as_bytes(),
            &mut bytes,
        );
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body.unwrap_or_default());
    Ok(bytes)
}

/// The lines of `headers`, with `Host` unless they have it.
///
/// # Errors
/// A [`SpecError`] that names the header which HTTP does not allow.
pub(super) fn header_lines(
    target: &Target,
    headers: &[(String, String)],
) -> Result<Vec<u8>, SpecError> {
    let mut bytes = Vec::new();
    if !given(headers, "host") {
        add("Host", target.authority.as_bytes(), &mut bytes);
    }
    for (name, value) in headers {
        HeaderName::try_from(name.as_str()).map_err(|_| {
            SpecError::new(
                "headers",
                format!("{name:?} is not a header name"),
                "write it as X-Name",
            )
        })?;
        add(name, fields::value(name, value)?.as_bytes(), &mut bytes);
    }
    Ok(bytes)
}

/// Append a header's line.
fn add(name: &str, value: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b": ");
    bytes.extend_from_slice(value);
    bytes.extend_from_slice(b"\r\n");
}

/// Return true if `headers` have one of this name.
pub(super) fn given(headers: &[(String, String)], name: &str) -> bool {
    let mut names = headers.iter().map(|(key, _)| key);
    names.any(|key| key.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{KeySpec, Order};

    fn post(path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Result<String, SpecError> {
        let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let target = Target::parse(&format!("http://h:81{path}"))?;
        let headers: Vec<_> = headers.iter().map(own).collect();
        let request = compose(&target, &Method::POST, &headers, body.map(str::as_bytes))?;
        let one = KeySpec {
            count: 1,
            alpha: None,
            order: Order::Random,
        };
        let mut bytes = Vec::new();
        request.write(&mut Keys::new(Some(one), 1, 0, (0, 1)), &mut bytes);
        Ok(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn adds_host_and_length_unless_given() {
        let expected = "POST /p?q HTTP/1.1\r\nHost: h:81\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi";
        assert_eq!(post("/p?q", &[("X-A", "b")], Some("hi")).unwrap(), expected);
        let expected = "POST / HTTP/1.1\r\nhost: other\r\n\r\n";
        assert_eq!(post("/", &[("host", "other")], None).unwrap(), expected);
    }

    #[test]
    fn puts_the_object_s_number_into_the_path() {
        let expected = "POST /o/0.bin?k HTTP/1.1\r\nHost: h:81\r\n\r\n";
        assert_eq!(post("/o/{key}.bin?k", &[], None).unwrap(), expected);
    }

    #[test]
    fn refuses_headers_that_would_split_the_request() {
        assert!(post("/", &[("X A", "b")], None).is_err());
        assert!(post("/", &[("X-A", "b\r\nX-B: c")], None).is_err());
    }
}
