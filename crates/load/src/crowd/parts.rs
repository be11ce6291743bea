//! The parts of a request that a user's values go into, taken apart once.

use http::Method;

use crate::fields;
use crate::sequence::names::Names;
use crate::sequence::take::Use;
use crate::sequence::template::{Fault, OPEN, Template};
use crate::spec::SpecError;
use crate::target::Target;

/// Makes the error of what is found in a request, and its remedy.
pub type Refuse<'f> = &'f dyn Fn(String, String) -> SpecError;

/// Makes a request with values as one version of HTTP writes it: of target, method, headers and
/// body.
pub type Compose<R> = fn(
    &Target,
    &Method,
    &[(String, String)],
    Option<Payload<'_>>,
    &mut Names,
    Refuse<'_>,
) -> Result<R, SpecError>;

/// A request's body as it is sent.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// The text of a template.
    Template(&'a [u8]),
}

/// The path and the body of a request.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The path, with the place of an object's number.
    pub path: Template,
    /// The body; empty without one.
    pub body: Template,
}

impl Parts {
    /// The parts of a request for `target` with these headers.
    ///
    /// # Errors
    /// A [`SpecError`] for a place without a value, and for headers that would frame the body in
    /// another way than its length.
    pub fn of(
        target: &Target,
        headers: &[(String, String)],
        payload: Option<Payload<'_>>,
        names: &mut Names,
        refuse: Refuse<'_>,
    ) -> Result<Self, SpecError> {
        let path = template(target.path.as_bytes(), names, refuse)?.with_key();
        path.values()
            .for_each(|value| names.note(value, Use::InPath));
        path.first()
            .iter()
            .for_each(|value| names.note(*value, Use::AsPath));
        let body = match payload {
            None => Template::default(),
            Some(Payload::Template(text)) => template(text, names, refuse)?,
            Some(Payload::Bytes(bytes)) => bytes.into(),
        };
        let fixed = body.plain();
        for (name, value) in headers {
            let about = ["content-length", "transfer-encoding"];
            let framing = about.iter().any(|other| name.eq_ignore_ascii_case(other));
            if framing && (fixed.is_none() || value.contains(OPEN)) {
                let found = format!("{name} beside a body with values, or with a value in it");
                return Err(refuse(found, "leave it out: it is computed".into()));
            }
        }
        fields::check_framing(headers, fixed.map_or(0, <[u8]>::len))?;
        Ok(Parts { path, body })
    }
}

/// The template that `text` writes, with the values of `names`.
///
/// # Errors
/// A [`SpecError`] for a place without a value.
pub fn template(text: &[u8], names: &Names, refuse: Refuse<'_>) -> Result<Template, SpecError> {
    let parsed = Template::parse(text, |name| names.find(name));
    parsed.map_err(|fault| explain(fault, refuse))
}

/// The error of a place without a value.
fn explain(fault: Fault, refuse: Refuse<'_>) -> SpecError {
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
