//! HTTP/2 as a server writes it.

use std::io::{self, Read};

use tare_load::h2::frame::{HEADER, Header, flag, kind};
use tare_load::hpack::{Decoder, Scratch, encoder};

/// A frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Header {
        length: payload.len(),
        kind,
        flags,
        stream,
    }
    .write(&mut out);
    out.extend_from_slice(payload);
    out
}

/// Read what a client says first.
pub fn preface(stream: &mut impl Read) -> io::Result<()> {
    stream.read_exact(&mut [0; 24])
}

/// Read until a client has sent a whole request, and return its stream.
pub fn whole_request(stream: &mut impl Read) -> io::Result<u32> {
    loop {
        let header = any_frame(stream)?;
        // Settings have no stream, and their flag is another one.
        if header.stream != 0 && header.flags & flag::END_STREAM != 0 {
            return Ok(header.stream);
        }
    }
}

/// Read a frame, and return its header.
pub fn any_frame(stream: &mut impl Read) -> io::Result<Header> {
    let mut head = [0; HEADER];
    stream.read_exact(&mut head)?;
    let header = Header::read(&head);
    stream.read_exact(&mut vec![0; header.length])?;
    Ok(header)
}

/// What a server says first, with some settings.
pub fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let bytes = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    let payload: Vec<u8> = settings.iter().flat_map(bytes).collect();
    frame(kind::SETTINGS, 0, 0, &payload)
}

/// A header block.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        encoder::field(name, value.as_bytes(), &mut block);
    }
    block
}

/// A whole HEADERS frame.
pub fn headers(stream: u32, ends: bool, fields: &[(&str, &str)]) -> Vec<u8> {
    let flags = flag::END_HEADERS | (u8::from(ends) * flag::END_STREAM);
    frame(kind::HEADERS, flags, stream, &block(fields))
}

/// A DATA frame.
pub fn data(stream: u32, ends: bool, body: &[u8]) -> Vec<u8> {
    frame(kind::DATA, u8::from(ends) * flag::END_STREAM, stream, body)
}

/// A correct answer.
pub fn answer(stream: u32, body: &[u8]) -> Vec<u8> {
    let length = body.len().to_string();
    let head = headers(
        stream,
        false,
        &[(":status", "200"), ("content-length", &length)],
    );
    [head, data(stream, true, body)].concat()
}

/// A frame whose payload is one number.
pub fn number(kind: u8, stream: u32, number: u32) -> Vec<u8> {
    frame(kind, 0, stream, &number.to_be_bytes())
}

/// GOAWAY.
pub fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(
        kind::GOAWAY,
        0,
        0,
        &[last.to_be_bytes(), code.to_be_bytes()].concat(),
    )
}

/// The path in a block of a request's fields.
pub fn path(block: &[u8]) -> String {
    let mut path = String::new();
    let field = |name: &[u8], value: &[u8]| {
        if name == b":path" {
            path = String::from_utf8_lossy(value).into_owned();
        }
    };
    let read = Decoder::default().decode(block, &mut Scratch::default(), field);
    read.expect("a block");
    path
}
