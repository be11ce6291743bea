//! Requests as far as this server understands them: GET without a body.

/// A request for one of the server's two resources, or for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `/`: the answer that costs.
    Root,
    /// `/account`: what the answers cost so far.
    Account,
    /// Another path.
    Other,
    /// No GET, or with a body.
    Bad,
}

const END: &[u8] = b"\r\n\r\n";
/// The longest head that is read.
pub const HEAD_MAX: usize = 8192;

/// Return the first request in `bytes` and its length, or `None` if it is not whole yet.
pub fn first(bytes: &[u8]) -> Option<(Request, usize)> {
    let end = bytes.windows(END.len()).position(|four| four == END)?;
    let (head, length) = (&bytes[..end], end + END.len());
    let line = head.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|&byte| byte == b' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if method != Some(b"GET") || version != Some(b"HTTP/1.1") || has_body(head) {
        return Some((Request::Bad, length));
    }
    let path = target
        .unwrap_or_default()
        .split(|&byte| byte == b'?')
        .next();
    Some((
        match path {
            Some(b"/") => Request::Root,
            Some(b"/account") => Request::Account,
            _ => Request::Other,
        },
        length,
    ))
}

fn has_body(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').skip(1).any(|line| {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        name.eq_ignore_ascii_case(b"content-length")
            || name.eq_ignore_ascii_case(b"transfer-encoding")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_resources_are_told_apart() {
        for (head, wanted) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", Request::Root),
            ("GET /?a=1 HTTP/1.1\r\n\r\n", Request::Root),
            ("GET /account HTTP/1.1\r\n\r\n", Request::Account),
            ("GET /other HTTP/1.1\r\n\r\n", Request::Other),
            ("POST / HTTP/1.1\r\n\r\n", Request::Bad),
            ("GET / HTTP/1.0\r\n\r\n", Request::Bad),
            ("GET / HTTP/1.1\r\nContent-Length: 4\r\n\r\n", Request::Bad),
            (
                "GET / HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\n\r\n",
                Request::Bad,
            ),
            ("\r\n\r\n", Request::Bad),
        ] {
            assert_eq!(
                first(head.as_bytes()),
                Some((wanted, head.len())),
                "{head:?}"
            );
        }
        assert_eq!(first(b"GET / HTTP/1.1\r\nHost: a\r\n"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_not_one_yet(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some((_, length)) = first(&bytes) {
                prop_assert!(length <= bytes.len());
            }
        }
    }
}
