//! A request with values of a user's in its path, headers and body.

use http::Method;

use super::request::{given, header_lines};
use crate::crowd::parts::{Parts, Payload, Refuse, template};
use crate::keys::Keys;
use crate::sequence::names::Names;
use crate::sequence::template::Template;
use crate::sequence::user::User;
use crate::spec::SpecError;
use crate::target::Target;

/// A request with places for values.
#[derive(Clone, Debug)]
pub struct Valued {
    /// The lines up to those that are made for each request.
    head: Template,
    /// True if the body's length is another each time.
    measured: bool,
    /// The empty line and the body.
    tail: Template,
}

/// The bytes of the empty line before a body.
const EMPTY: &[u8] = b"\r\n";

/// A request as [`super::request::compose`] makes it, with the values of `names`.
///
/// # Errors
/// A [`SpecError`] for a header that HTTP does not allow, and for a place without a value.
pub fn compose(
    target: &Target,
    method: &Method,
    headers: &[(String, String)],
    payload: Option<Payload<'_>>,
    names: &mut Names,
    refuse: Refuse<'_>,
) -> Result<Valued, SpecError> {
    let Parts { path, body } = Parts::of(target, headers, payload, names, refuse)?;
    let mut head = Template::from(format!("{method} ").as_bytes());
    head.append(path);
    head.text(b" HTTP/1.1\r\n");
    head.append(template(&header_lines(target, headers)?, names, refuse)?);
    let fixed = body.plain().map(<[u8]>::len);
    if let Some(length) = fixed.filter(|_| payload.is_some())
        && !given(headers, "content-length")
    {
        head.text(format!("Content-Length: {length}\r\n").as_bytes());
    }
    let mut tail = Template::from(EMPTY);
    tail.append(body);
    Ok(Valued {
        head,
        measured: fixed.is_none(),
        tail,
    })
}

impl Valued {
    /// Append the request with a user's values and cookies, for the next of `keys`.
    pub fn write(&self, user: &User, keys: &mut Keys, out: &mut Vec<u8>) {
        let values = user.values();
        self.head.write(values, keys, out);
        let cookies = user.cookies();
        if !cookies.is_empty() {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(cookies);
            out.extend_from_slice(b"\r\n");
        }
        if self.measured {
            let length = self.tail.length(values) - EMPTY.len();
            out.extend_from_slice(b"Content-Length: ");
            out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        self.tail.write(values, keys, out);
    }
}
