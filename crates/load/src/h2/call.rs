//! The request of a call of gRPC.

use http::Method;

use super::request::{self, Request};
use crate::spec::SpecError;
use crate::target::Target;

/// The request of a call to `target`'s path with `body` as its message.
///
/// # Errors
/// A [`SpecError`] that names the header which HTTP/2 does not allow.
pub fn compose(
    target: &Target,
    _: &Method,
    headers: &[(String, String)],
    body: Option<&[u8]>,
) -> Result<Request, SpecError> {
    let message = body.unwrap_or_default();
    let length = u32::try_from(message.len()).map_err(|_| {
        let found = format!("a message of {} bytes", message.len());
        SpecError::new("body", found, "take one of less than 4 GiB")
    })?;
    let framed = [&[0][..], &length.to_be_bytes(), message].concat();
    let own = [("content-type", "application/grpc"), ("te", "trailers")];
    let own = own.map(|(name, value)| (name.to_string(), value.to_string()));
    let given = |name: &str| {
        headers
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    let own = own.iter().filter(|(name, _)| !given(name));
    let all: Vec<_> = own.chain(headers).cloned().collect();
    request::compose(target, &Method::POST, &all, Some(&framed))
}
