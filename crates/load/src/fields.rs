//! A request's header fields as HTTP/2 and 3 have them (RFC 9113, section 8.2; RFC 9114, section 4.2).

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue};

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
    /// All that are no pseudo-headers, names in lower case.
    pub others: Vec<(HeaderName, HeaderValue)>,
}

impl Fields {
    /// Those of `headers`, with `content-length` unless they have it; `host` becomes the authority.
    ///
    /// # Errors
    /// A [`SpecError`] that names the header which is not allowed.
    pub fn new(
        target: &Target,
        headers: &BTreeMap<String, String>,
        body: Option<&[u8]>,
    ) -> Result<Self, SpecError> {
        let mut authority = target.authority.clone().into_bytes();
        let mut others = Vec::new();
        for (name, text) in headers {
            let name = check(name)?;
            let value = HeaderValue::try_from(text.as_str()).map_err(|_| {
                let found = format!("{name}: {text:?} has a control character in its value");
                SpecError::new("headers", found, "take it out")
            })?;
            if name == http::header::HOST {
                authority = text.clone().into_bytes();
            } else {
                others.push((name, value));
            }
        }
        let given = |name: &HeaderName| others.iter().any(|(other, _)| other == name);
        if let Some(body) = body.filter(|_| !given(&http::header::CONTENT_LENGTH)) {
            others.push((http::header::CONTENT_LENGTH, HeaderValue::from(body.len())));
        }
        Ok(Fields { authority, others })
    }
}

fn check(name: &str) -> Result<HeaderName, SpecError> {
    let found = |what| format!("{name:?} {what}");
    let name = HeaderName::try_from(name)
        .map_err(|_| SpecError::new("headers", found("is no header name"), "write it as x-name"))?;
    if FORBIDDEN.contains(&name.as_str()) {
        let found = found("is not for this version of HTTP");
        return Err(SpecError::new("headers", found, "take it out"));
    }
    Ok(name)
}
