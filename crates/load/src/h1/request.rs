//! The bytes of a request, composed once.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue, Method};

use crate::spec::SpecError;
use crate::target::Target;

/// A request of `method` for `target`, with `Host` and `Content-Length` unless `headers` has them.
///
/// # Errors
/// A [`SpecError`] that names the header which HTTP does not allow.
pub fn compose(
    target: &Target,
    method: &Method,
    headers: &BTreeMap<String, String>,
    body: Option<&str>,
) -> Result<Vec<u8>, SpecError> {
    let mut bytes = format!("{method} {} HTTP/1.1\r\n", target.path).into_bytes();
    let mut add = |name: &str, value: &[u8]| {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    };
    let given = |name: &str| headers.keys().any(|key| key.eq_ignore_ascii_case(name));
    if !given("host") {
        add("Host", target.authority.as_bytes());
    }
    for (name, value) in headers {
        HeaderName::try_from(name.as_str()).map_err(|_| {
            SpecError::new(
                "headers",
                format!("{name:?} is no header name"),
                "write it as X-Name",
            )
        })?;
        let value = HeaderValue::try_from(value.as_str()).map_err(|_| {
            let found = format!("{name}: {value:?} has a control character in its value");
            SpecError::new("headers", found, "take it out")
        })?;
        add(name, value.as_bytes());
    }
    if let Some(body) = body.filter(|_| !given("content-length")) {
        add("Content-Length", body.len().to_string().as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body.unwrap_or_default().as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(headers: &[(&str, &str)], body: Option<&str>) -> Result<String, SpecError> {
        let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let target = Target::parse("http://h:81/p?q").expect("a target");
        let headers = headers.iter().map(own).collect();
        let bytes = compose(&target, &Method::POST, &headers, body)?;
        Ok(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn adds_host_and_length_unless_given() {
        let expected = "POST /p?q HTTP/1.1\r\nHost: h:81\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi";
        assert_eq!(post(&[("X-A", "b")], Some("hi")).unwrap(), expected);
        let expected = "POST /p?q HTTP/1.1\r\nhost: other\r\n\r\n";
        assert_eq!(post(&[("host", "other")], None).unwrap(), expected);
    }

    #[test]
    fn refuses_headers_that_would_split_the_request() {
        assert!(post(&[("X A", "b")], None).is_err());
        assert!(post(&[("X-A", "b\r\nX-B: c")], None).is_err());
    }
}
