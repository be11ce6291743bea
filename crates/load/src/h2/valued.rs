//! A request with values of a user's in its path, headers and body.

use http::Method;

use super::frame;
use crate::crowd::parts::{Parts, Payload, Refuse, template};
use crate::fields::Fields;
use crate::hpack::encoder;
use crate::keys::Keys;
use crate::sequence::names::Names;
use crate::sequence::template::Template;
use crate::sequence::user::User;
use crate::spec::SpecError;
use crate::target::Target;

/// A request with places for values.
#[derive(Clone, Debug)]
pub struct Valued {
    /// The fields but those that are made for each request.
    head: Vec<Piece>,
    body: Template,
}

/// A part of a header block.
#[derive(Clone, Debug)]
enum Piece {
    /// Whole fields.
    Fields(Vec<u8>),
    /// The beginning of a field, and its value.
    Field(Vec<u8>, Template),
}

/// Buffers of a thread for header blocks.
#[derive(Debug, Default)]
pub struct Buffers {
    pub(super) block: Vec<u8>,
    value: Vec<u8>,
}

/// Append a field.
fn add(name: &str, value: Template, head: &mut Vec<Piece>) {
    let Some(text) = value.plain() else {
        let mut begin = Vec::new();
        encoder::name(name, &mut begin);
        return head.push(Piece::Field(begin, value));
    };
    match head.last_mut() {
        Some(Piece::Fields(block)) => encoder::field(name, text, block),
        _ => {
            let mut block = Vec::new();
            encoder::field(name, text, &mut block);
            head.push(Piece::Fields(block));
        }
    }
}

impl Valued {
    /// A request of `method` for `target`, with the values of `names`.
    ///
    /// # Errors
    /// A [`SpecError`] for a header that HTTP/2 does not allow, and for a place without a value.
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
        add(":method", method.as_str().as_bytes().into(), &mut head);
        add(":scheme", target.http_scheme().as_bytes().into(), &mut head);
        add(
            ":authority",
            template(&authority, names, refuse)?,
            &mut head,
        );
        add(":path", path, &mut head);
        for (name, value) in &others {
            let value = template(value.as_bytes(), names, refuse)?;
            add(name.as_str(), value, &mut head);
        }
        Ok(Valued { head, body })
    }

    /// Append the frames of the header block for `stream` with a user's values and cookies, and the
    /// next of `keys`; put the body into `body`. With `shrunk`, the block says that it uses no
    /// table.
    pub fn write(
        &self,
        (stream, shrunk): (u32, bool),
        (user, body): (&User, &mut Vec<u8>),
        keys: &mut Keys,
        Buffers { block, value }: &mut Buffers,
        out: &mut Vec<u8>,
    ) {
        let values = user.values();
        body.clear();
        self.body.write(values, keys, body);
        block.clear();
        if shrunk {
            encoder::no_table(block);
        }
        for piece in &self.head {
            match piece {
                Piece::Fields(fields) => block.extend_from_slice(fields),
                Piece::Field(begin, text) => {
                    block.extend_from_slice(begin);
                    value.clear();
                    text.write(values, keys, value);
                    encoder::string(value, block);
                }
            }
        }
        if !user.cookies().is_empty() {
            encoder::name("cookie", block);
            encoder::string(user.cookies(), block);
        }
        if self.body.plain().is_none() {
            encoder::name("content-length", block);
            let mut digits = itoa::Buffer::new();
            encoder::string(digits.format(body.len()).as_bytes(), block);
        }
        frame::header_block(block, stream, body.is_empty(), out);
    }
}
