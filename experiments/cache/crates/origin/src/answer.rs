//! The answer to a request.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, Request, Response, StatusCode, http};

use crate::object::{Catalogue, Object};
use crate::range::{self, Range};

/// Objects never change: when they began to exist.
const MODIFIED: &str = "Wed, 01 Jan 2020 00:00:00 GMT";

/// They may be kept for a year.
const MAX_AGE: &str = "max-age=31536000";

/// A part of an object, made as it is sent.
#[derive(Debug, Default)]
pub struct Part {
    object: Option<Object>,
    next: u64,
    end: u64,
}

impl Body for Part {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.next >= self.end {
            return Poll::Ready(None);
        }
        let Some(object) = &self.object else {
            return Poll::Ready(None);
        };
        let bytes = object.bytes(self.next, self.end);
        self.next += bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.next >= self.end
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.end - self.next)
    }
}

/// The answer to `request`.
///
/// # Errors
/// Never, with headers that are constants and numbers.
pub fn answer<B>(catalogue: &Catalogue, request: &Request<B>) -> http::Result<Response<Part>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let refused = Response::builder().status(StatusCode::METHOD_NOT_ALLOWED);
        return refused
            .header(header::ALLOW, "GET, HEAD")
            .body(Part::default());
    }
    let Some(object) = catalogue.find(request.uri().path()) else {
        return Response::builder()
            .status(StatusCode::NOT_FOUND)
            .body(Part::default());
    };
    let headers = request.headers();
    let made = Response::builder()
        .header(header::ETAG, &object.etag)
        .header(header::LAST_MODIFIED, MODIFIED)
        .header(header::CACHE_CONTROL, MAX_AGE)
        .header(header::ACCEPT_RANGES, "bytes");
    if is_known(headers, &object) {
        return made.status(StatusCode::NOT_MODIFIED).body(Part::default());
    }
    let size = object.size;
    let wanted = match text(headers, &header::IF_RANGE) {
        Some(tag) if tag != object.etag && tag != MODIFIED => Range::Whole,
        _ => range::parse(text(headers, &header::RANGE), size),
    };
    let (made, next, end) = match wanted {
        Range::Whole => (made, 0, size),
        Range::Part(start, end) => {
            let part = format!("bytes {start}-{}/{size}", end - 1);
            let made = made.status(StatusCode::PARTIAL_CONTENT);
            (made.header(header::CONTENT_RANGE, part), start, end)
        }
        Range::Unsatisfiable => {
            let made = made.status(StatusCode::RANGE_NOT_SATISFIABLE);
            let made = made.header(header::CONTENT_RANGE, format!("bytes */{size}"));
            return made.body(Part::default());
        }
    };
    let made = made.header(header::CONTENT_TYPE, "application/octet-stream");
    made.header(header::CONTENT_LENGTH, end - next).body(Part {
        object: Some(object),
        next,
        end,
    })
}

/// Return true if the client says that it has the object; a tag counts before a date.
fn is_known(headers: &HeaderMap, object: &Object) -> bool {
    match text(headers, &header::IF_NONE_MATCH) {
        Some(tags) => tags.split(',').any(|tag| {
            let tag = tag.trim();
            tag == "*" || tag.trim_start_matches("W/") == object.etag
        }),
        None => text(headers, &header::IF_MODIFIED_SINCE) == Some(MODIFIED),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::Sizes;

    fn asked(method: &str, path: &str, headers: &[(&str, &str)]) -> Response<Part> {
        let catalogue = Catalogue::new(vec![("/a".into(), Sizes::parse("fixed:100").unwrap())]);
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(&catalogue, &request.body(()).unwrap()).unwrap()
    }

    fn header<'a>(answer: &'a Response<Part>, name: &str) -> &'a str {
        answer.headers()[name].to_str().unwrap()
    }

    #[test]
    fn an_object_says_how_long_it_keeps() {
        let found = asked("GET", "/a?x=1", &[]);
        assert_eq!(found.status(), 200);
        assert_eq!(header(&found, "content-length"), "100");
        assert_eq!(header(&found, "cache-control"), MAX_AGE);
        assert_eq!(found.body().size_hint().exact(), Some(100));
    }

    #[test]
    fn parts_are_parts() {
        let found = asked("GET", "/a", &[("range", "bytes=10-19")]);
        assert_eq!(found.status(), 206);
        assert_eq!(header(&found, "content-range"), "bytes 10-19/100");
        assert_eq!(header(&found, "content-length"), "10");
        let refused = asked("GET", "/a", &[("range", "bytes=100-")]);
        assert_eq!(refused.status(), 416);
        assert_eq!(header(&refused, "content-range"), "bytes */100");
    }

    #[test]
    fn what_is_known_is_not_sent_again() {
        let tag = header(&asked("GET", "/a", &[]), "etag").to_owned();
        fn status(headers: &[(&str, &str)]) -> u16 {
            asked("GET", "/a", headers).status().as_u16()
        }
        assert_eq!(status(&[("if-none-match", &tag)]), 304);
        assert_eq!(
            status(&[("if-none-match", &format!("\"x\", W/{tag}"))]),
            304
        );
        assert_eq!(status(&[("if-none-match", "\"x\"")]), 200);
        assert_eq!(status(&[("if-modified-since", MODIFIED)]), 304);
        assert_eq!(
            status(&[("if-modified-since", MODIFIED), ("if-none-match", "\"x\"")]),
            200
        );
        assert_eq!(status(&[("if-range", &tag), ("range", "bytes=0-0")]), 206);
        assert_eq!(
            status(&[("if-range", "\"x\""), ("range", "bytes=0-0")]),
            200
        );
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert_eq!(asked("GET", "/b", &[]).status(), 404);
        assert_eq!(asked("POST", "/a", &[]).status(), 405);
    }
}
