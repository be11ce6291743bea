//! A request's frames, composed once (RFC 9114, section 4.3.1).

use http::Method;

pub use super::valued::Buffers;
use super::valued::Valued;
use super::{frame, qpack};
use crate::crowd::parts::{Payload, Refuse};
use crate::crowd::seats::Seat;
use crate::expectation;
use crate::fields::Fields;
use crate::keys::{Keys, PLACE};
use crate::sequence::names::Names;
use crate::spec::SpecError;
use crate::target::Target;

/// Entries of QPACK's static table with the names that requests need.
const AUTHORITY: u64 = 0;
const PATH: u64 = 1;
const METHOD: u64 = 17;
/// `:scheme: https`, as a whole.
const HTTPS: u8 = 0b1100_0000 | 23;

/// A request, and its expected answer.
pub type Exchange = expectation::Exchange<Request>;

/// A request as it is sent.
#[derive(Clone, Debug)]
pub enum Request {
    /// The same each time.
    Plain(Plain),
    /// One with the values of a user.
    Valued(Valued),
}

impl Request {
    /// Append the frames for the next of `keys`, with the values of the user on a `seat`.
    pub fn write(
        &self,
        seat: Option<&mut Seat>,
        keys: &mut Keys,
        buffers: &mut Buffers,
        out: &mut Vec<u8>,
    ) {
        match (self, seat) {
            (Request::Plain(plain), _) => plain.write(keys, &mut buffers.section, out),
            (Request::Valued(valued), Some(seat)) => valued.write(seat, keys, buffers, out),
            (Request::Valued(_), None) => unreachable!("users alone have values"),
        }
    }
}

/// A request, whose path may have the number of an object in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The fields in front of the path and behind it, as the section has them.
    before: Vec<u8>,
    path: String,
    after: Vec<u8>,
    /// The body's frame.
    body: Vec<u8>,
}

impl Plain {
    fn write(&self, keys: &mut Keys, section: &mut Vec<u8>, out: &mut Vec<u8>) {
        section.clear();
        section.extend_from_slice(&self.before);
        match self.path.split_once(PLACE) {
            None => qpack::named(PATH, self.path.as_bytes(), section),
            Some((start, rest)) => {
                let path = format!("{start}{}{rest}", keys.draw());
                qpack::named(PATH, path.as_bytes(), section);
            }
        }
        section.extend_from_slice(&self.after);
        frame::headers(section, out);
        out.extend_from_slice(&self.body);
    }
}

/// A request of `method` for `target`, with `content-length` unless `headers` has it.
///
/// # Errors
/// A [`SpecError`] that names the header which HTTP/3 does not allow.
pub fn compose(
    target: &Target,
    method: &Method,
    headers: &[(String, String)],
    body: Option<&[u8]>,
) -> Result<Request, SpecError> {
    let Fields { authority, others } = Fields::new(target, headers, body)?;
    let mut after = Vec::new();
    for (name, value) in &others {
        qpack::field(name.as_str(), value.as_bytes(), &mut after);
    }
    let mut before = Vec::new();
    qpack::begin(&mut before);
    qpack::named(METHOD, method.as_str().as_bytes(), &mut before);
    before.push(HTTPS);
    qpack::named(AUTHORITY, &authority, &mut before);
    let mut framed = Vec::new();
    frame::data(body.unwrap_or_default(), &mut framed);
    Ok(Request::Plain(Plain {
        before,
        path: target.path.clone(),
        after,
        body: framed,
    }))
}

/// The same with the values of `names`, as one of [`crate::crowd::parts::Compose`].
///
/// # Errors
/// A [`SpecError`] also for a place without a value.
pub fn of_user(
    target: &Target,
    method: &Method,
    headers: &[(String, String)],
    payload: Option<Payload<'_>>,
    names: &mut Names,
    refuse: Refuse<'_>,
) -> Result<Request, SpecError> {
    let valued = Valued::of(target, method, headers, payload, names, refuse)?;
    Ok(Request::Valued(valued))
}
