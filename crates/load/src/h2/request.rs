//! A request's frames, composed once.

use http::Method;

use super::frame::{self, HEADER, Header};
use super::valued::Valued;
use crate::crowd::parts::{Payload, Refuse};
use crate::expectation;
use crate::fields::Fields;
use crate::hpack::{encoder, integer};
use crate::keys::{Keys, PLACE};
use crate::sequence::names::Names;
use crate::spec::SpecError;
use crate::target::Target;

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
    /// The body, if it is the same each time.
    pub fn body(&self) -> &[u8] {
        match self {
            Request::Plain(plain) => &plain.body,
            Request::Valued(_) => &[],
        }
    }
}

/// A request, whose path may have the number of an object in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The fields in front of the path and behind it, as the header block has them.
    before: Vec<u8>,
    path: String,
    after: Vec<u8>,
    /// The frames with the whole header block for stream 0, if the path is always the same.
    frames: Option<Vec<u8>>,
    body: Vec<u8>,
}

impl Plain {
    /// Append the frames of the header block for `stream` and the next of `keys`. With `shrunk`,
    /// the block says that it uses no table. `block` is scratch space.
    pub fn write(
        &self,
        stream: u32,
        shrunk: bool,
        keys: &mut Keys,
        block: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        let mut at = out.len();
        match &self.frames {
            Some(frames) if !shrunk => out.extend_from_slice(frames),
            _ => {
                block.clear();
                if shrunk {
                    encoder::no_table(block);
                }
                self.compose(keys, block);
                frame::header_block(block, 0, self.body.is_empty(), out);
            }
        }
        while let Some(header) = out.get(at..).and_then(<[u8]>::first_chunk) {
            let length = Header::read(header).length;
            out[at + 5..at + HEADER].copy_from_slice(&stream.to_be_bytes());
            at += HEADER + length;
        }
    }

    fn compose(&self, keys: &mut Keys, block: &mut Vec<u8>) {
        block.extend_from_slice(&self.before);
        match self.path.split_once(PLACE) {
            None => encoder::field(":path", self.path.as_bytes(), block),
            Some((start, rest)) => {
                let mut digits = itoa::Buffer::new();
                let digits = digits.format(keys.draw());
                let length = start.len() + digits.len() + rest.len();
                encoder::name(":path", block);
                integer::write(length as u64, 7, 0, block);
                for part in [start, digits, rest] {
                    block.extend_from_slice(part.as_bytes());
                }
            }
        }
        block.extend_from_slice(&self.after);
    }
}

/// A request of `method` for `target`, with `content-length` unless `headers` has it.
///
/// # Errors
/// A [`SpecError`] that names the header which HTTP/2 does not allow.
pub fn compose(
    target: &Target,
    method: &Method,
    headers: &[(String, String)],
    body: Option<&[u8]>,
) -> Result<Request, SpecError> {
    let Fields { authority, others } = Fields::new(target, headers, body)?;
    let mut after = Vec::new();
    for (name, value) in &others {
        encoder::field(name.as_str(), value.as_bytes(), &mut after);
    }
    let mut before = Vec::new();
    encoder::field(":method", method.as_str().as_bytes(), &mut before);
    encoder::field(":scheme", target.http_scheme().as_bytes(), &mut before);
    encoder::field(":authority", &authority, &mut before);
    let mut request = Plain {
        before,
        path: target.path.clone(),
        after,
        frames: None,
        body: body.unwrap_or_default().to_vec(),
    };
    if !target.path.contains(PLACE) {
        let (mut block, mut frames) = (Vec::new(), Vec::new());
        request.compose(&mut Keys::new(None, 0, 0, (0, 1)), &mut block);
        frame::header_block(&block, 0, request.body.is_empty(), &mut frames);
        request.frames = Some(frames);
    }
    Ok(Request::Plain(request))
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

#[cfg(test)]
mod tests {
    use super::super::frame::{flag, kind};
    use super::*;
    use crate::hpack::{Decoder, Scratch};
    use crate::spec::{KeySpec, Order};

    fn composed(path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Plain {
        let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let target = Target::parse(&format!("http://h:81{path}")).expect("a target");
        let headers: Vec<_> = headers.iter().map(own).collect();
        match compose(&target, &Method::POST, &headers, body).expect("a request") {
            Request::Plain(plain) => plain,
            Request::Valued(_) => panic!("a request without values"),
        }
    }

    /// The fields of the request's block, and the kinds and flags of its frames.
    fn fields(request: &Plain, shrunk: bool) -> (String, Vec<(u8, u8)>) {
        let spec = KeySpec {
            count: 1,
            alpha: None,
            order: Order::Random,
        };
        let mut keys = Keys::new(Some(spec), 1, 0, (0, 1));
        let mut out = b"before".to_vec();
        request.write(7, shrunk, &mut keys, &mut Vec::new(), &mut out);
        let (mut rest, mut block, mut frames) = (&out[6..], Vec::new(), Vec::new());
        while let Some(header) = rest.first_chunk() {
            let header = Header::read(header);
            assert_eq!(header.stream, 7);
            frames.push((header.kind, header.flags));
            block.extend_from_slice(&rest[HEADER..HEADER + header.length]);
            rest = &rest[HEADER + header.length..];
        }
        assert_eq!(block[0] == 0x20, shrunk);
        let mut text = String::new();
        let keep = |name: &[u8], value: &[u8]| {
            text += &String::from_utf8_lossy(&[name, b"=", value, b" "].concat());
        };
        let read = Decoder::default().decode(&block, &mut Scratch::default(), keep);
        read.expect("a valid block");
        (text, frames)
    }

    #[test]
    fn has_the_fields_of_a_request() {
        let whole = kind::HEADERS;
        let (text, frames) = fields(&composed("/p?q", &[("X-A", "b")], Some(b"hi")), false);
        assert_eq!(
            text,
            ":method=POST :scheme=http :authority=h:81 :path=/p?q x-a=b content-length=2 "
        );
        assert_eq!(frames, [(whole, flag::END_HEADERS)]);
        let (text, frames) = fields(&composed("/", &[("Host", "other")], None), true);
        assert_eq!(text, ":method=POST :scheme=http :authority=other :path=/ ");
        assert_eq!(frames, [(whole, flag::END_HEADERS | flag::END_STREAM)]);
    }

    #[test]
    fn puts_the_object_s_number_into_the_path() {
        let (text, _) = fields(&composed("/o/{key}.bin?k", &[], None), false);
        assert_eq!(
            text,
            ":method=POST :scheme=http :authority=h:81 :path=/o/0.bin?k "
        );
    }

    #[test]
    fn a_long_block_is_continued() {
        let long = "x".repeat(20_000);
        let (text, frames) = fields(&composed("/", &[("x-long", &long)], None), false);
        assert!(text.ends_with(&format!("x-long={long} ")));
        let end = flag::END_HEADERS;
        assert_eq!(
            frames,
            [(kind::HEADERS, flag::END_STREAM), (kind::CONTINUATION, end)]
        );
    }

    #[test]
    fn refuses_headers_that_are_none() {
        let target = Target::parse("http://h/").expect("a target");
        for (name, value) in [("X A", "b"), ("X-A", "b\r\nc"), ("Connection", "close")] {
            let headers = [(name.to_string(), value.to_string())];
            assert!(
                compose(&target, &Method::GET, &headers, None).is_err(),
                "{name}"
            );
        }
    }
}
