//! A request with values of a user's in its path, headers and body, taken apart once.

use http::Method;

use super::request::header_lines;
use crate::fields;
use crate::keys::Keys;
use crate::sequence::names::Names;
use crate::sequence::take::Use;
use crate::sequence::template::{Fault, OPEN, Template};
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

/// A request's body as it is sent.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// The text of a template.
    Template(&'a [u8]),
}

/// The bytes of the empty line before a body.
const EMPTY: &[u8] = b"\r\n";

impl Valued {
    /// A request as [`super::request::compose`] makes it, with the values of `names`; `refuse` makes
    /// the error of what is found in it, and its remedy.
    ///
    /// # Errors
    /// A [`SpecError`] for a header that HTTP does not allow, and for a place without a value.
    pub fn compose(
        target: &Target,
        method: &Method,
        headers: &[(String, String)],
        payload: Option<Payload<'_>>,
        names: &mut Names,
        refuse: impl Fn(String, String) -> SpecError,
    ) -> Result<Self, SpecError> {
        let parse = |text: &[u8], names: &Names| {
            let parsed = Template::parse(text, |name| names.find(name));
            parsed.map_err(|fault| explain(fault, &refuse))
        };
        let path = parse(target.path.as_bytes(), names)?.with_key();
        path.values()
            .for_each(|value| names.note(value, Use::InPath));
        path.first()
            .iter()
            .for_each(|value| names.note(*value, Use::AsPath));
        let mut head = Template::default();
        head.text(format!("{method} ").as_bytes());
        head.append(path);
        head.text(b" HTTP/1.1\r\n");
        head.append(parse(&header_lines(target, headers)?, names)?);
        let body = match payload {
            None => Template::default(),
            Some(Payload::Template(text)) => parse(text, names)?,
            Some(Payload::Bytes(bytes)) => {
                let mut plain = Template::default();
                plain.text(bytes);
                plain
            }
        };
        let measured = body.values().next().is_some();
        let framing = headers.iter().filter(|(name, _)| {
            let about = ["content-length", "transfer-encoding"];
            about.iter().any(|other| name.eq_ignore_ascii_case(other))
        });
        for (name, value) in framing.clone() {
            if measured || value.contains(OPEN) {
                let found = format!("{name} beside a body with values, or with a value in it");
                return Err(refuse(found, "leave it out: it is computed".into()));
            }
        }
        if !measured {
            let length = body.length(&[]);
            fields::check_framing(headers, length)?;
            if payload.is_some() && framing.count() == 0 {
                head.text(format!("Content-Length: {length}\r\n").as_bytes());
            }
        }
        let mut tail = Template::default();
        tail.text(EMPTY);
        tail.append(body);
        Ok(Valued {
            head,
            measured,
            tail,
        })
    }

    /// Append the request with a user's values and cookies, for the next of `keys`.
    pub fn write(&self, user: &User, keys: &mut Keys, out: &mut Vec<u8>) {
        let values = user.values();
        self.head.write(values, keys, out);
        out.extend_from_slice(user.cookies());
        if self.measured {
            let length = self.tail.length(values) - EMPTY.len();
            out.extend_from_slice(b"Content-Length: ");
            out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        self.tail.write(values, keys, out);
    }
}

/// The error of a place without a value.
fn explain(fault: Fault, refuse: impl Fn(String, String) -> SpecError) -> SpecError {
    match fault {
        Fault::NoName(text) => refuse(
            format!("{text:?} begins no value"),
            "write ${NAME} of letters, digits, -, _ and ., or $${ for the characters ${".into(),
        ),
        Fault::Unknown(name) => refuse(
            format!("no earlier request takes ${{{name}}}"),
            format!("write \"take\": {{\"{name}\": \"json:/{name}\"}} into one"),
        ),
    }
}
