//! A request with values of a user's in its path, headers and body, for versions of HTTP whose
//! headers are fields.

use std::marker::PhantomData;

use http::Method;

use super::parts::{Parts, Payload, Refuse, template};
use crate::fields::Fields;
use crate::keys::Keys;
use crate::sequence::names::Names;
use crate::sequence::template::Template;
use crate::sequence::user::User;
use crate::spec::SpecError;
use crate::target::Target;

/// The way in which a version of HTTP writes fields.
pub trait Coding {
    /// Append a field.
    fn field(name: &str, value: &[u8], out: &mut Vec<u8>);

    /// Append the beginning of a field, behind which its value must follow.
    fn name(name: &str, out: &mut Vec<u8>);

    /// Append a field's value.
    fn string(value: &[u8], out: &mut Vec<u8>);
}

/// A request with places for values.
#[derive(Clone, Debug)]
pub struct Valued<C> {
    /// The fields but those that are made for each request.
    head: Vec<Piece>,
    body: Template,
    coding: PhantomData<C>,
}

/// A part of a header.
#[derive(Clone, Debug)]
enum Piece {
    /// Whole fields.
    Fields(Vec<u8>),
    /// The beginning of a field, and its value.
    Field(Vec<u8>, Template),
}

/// Append a field.
fn add<C: Coding>(name: &str, value: Template, head: &mut Vec<Piece>) {
    let Some(text) = value.plain() else {
        let mut begin = Vec::new();
        C::name(name, &mut begin);
        return head.push(Piece::Field(begin, value));
    };
    match head.last_mut() {
        Some(Piece::Fields(fields)) => C::field(name, text, fields),
        _ => {
            let mut fields = Vec::new();
            C::field(name, text, &mut fields);
            head.push(Piece::Fields(fields));
        }
    }
}

impl<C: Coding> Valued<C> {
    /// A request of `method` for `target`, with the values of `names`.
    ///
    /// # Errors
    /// A [`SpecError`] for a header that these versions do not allow, and for a place without a
    /// value.
    pub fn of(
        target: &Target,
        method: &Method,
        headers: &[(String, String)],
        payload: Option<Payload<'_>>,
        names: &mut Names,
        refuse: Refuse<'_>,
    ) -> Result<Self, SpecError> {
        let Parts { path, body } = Parts::of(target, headers, payload, names, refuse)?;
        let fixed = body.plain().filter(|_| payload.is_some());
        let Fields { authority, others } = Fields::new(target, headers, fixed)?;
        let mut head = Vec::new();
        add::<C>(":method", method.as_str().as_bytes().into(), &mut head);
        let scheme = target.http_scheme().as_bytes().into();
        add::<C>(":scheme", scheme, &mut head);
        let authority = template(&authority, names, refuse)?;
        add::<C>(":authority", authority, &mut head);
        add::<C>(":path", path, &mut head);
        for (name, value) in &others {
            let value = template(value.as_bytes(), names, refuse)?;
            add::<C>(name.as_str(), value, &mut head);
        }
        Ok(Valued {
            head,
            body,
            coding: PhantomData,
        })
    }

    /// Append the fields with a user's values and cookies, for the next of `keys`; put the body
    /// into `body`. `value` is scratch space.
    pub fn fields(
        &self,
        (user, body): (&User, &mut Vec<u8>),
        keys: &mut Keys,
        value: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        let values = user.values();
        body.clear();
        self.body.write(values, keys, body);
        for piece in &self.head {
            match piece {
                Piece::Fields(fields) => out.extend_from_slice(fields),
                Piece::Field(begin, text) => {
                    out.extend_from_slice(begin);
                    value.clear();
                    text.write(values, keys, value);
                    C::string(value, out);
                }
            }
        }
        if !user.cookies().is_empty() {
            C::name("cookie", out);
            C::string(user.cookies(), out);
        }
        if self.body.plain().is_none() {
            C::name("content-length", out);
            let mut digits = itoa::Buffer::new();
            C::string(digits.format(body.len()).as_bytes(), out);
        }
    }
}
