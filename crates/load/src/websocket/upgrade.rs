//! The switch from HTTP/1.1 to WebSocket (RFC 6455, section 4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use crate::h1::request::{self, Request};
use crate::keys::Keys;
use crate::protocol::Failure;
use crate::random;
use crate::spec::SpecError;
use crate::target::Target;

/// The text that the standard adds to a key.
const ADDED: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Longest head that is read, in bytes, and most headers in it.
const LONGEST: usize = 64 * 1024;
const HEADERS: usize = 256;

/// The request for the switch, and the right answer's proof that the server has read it.
#[derive(Clone, Debug)]
pub struct Upgrade {
    request: Request,
    accept: String,
}

impl Upgrade {
    /// The request for `target` with `headers` beside its own, and a key made from `seed`.
    ///
    /// # Errors
    /// A [`SpecError`] that names the header which cannot be used.
    pub fn new(
        target: &Target,
        headers: &[(String, String)],
        seed: u64,
    ) -> Result<Self, SpecError> {
        let key = STANDARD.encode(random::bytes(seed, 16));
        let own = [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", &key),
        ];
        let own = own.map(|(name, value)| (name.to_string(), value.to_string()));
        let all: Vec<_> = own.iter().chain(headers).cloned().collect();
        Ok(Upgrade {
            request: request::compose(target, &http::Method::GET, &all, None)?,
            accept: accept(&key),
        })
    }

    /// Append the request.
    pub fn write(&self, keys: &mut Keys, out: &mut Vec<u8>) {
        self.request.write(keys, out);
    }

    /// The length of the answer that `bytes` begin with, if it is whole.
    ///
    /// # Errors
    /// When it does not switch to WebSocket.
    pub fn read(&self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() > LONGEST => {
                return Err(Failure::connect("an endless head"));
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(Failure::connect("not an HTTP/1.1 head")),
        };
        if response.code != Some(101) {
            return Err(Failure::connect("the server does not switch to WebSocket"));
        }
        let value = |name: &str| {
            let mut all = response.headers.iter();
            let found = all.find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| header.value)
        };
        if !value("upgrade").is_some_and(|name| name.eq_ignore_ascii_case(b"websocket")) {
            return Err(Failure::connect("the server switches to another protocol"));
        }
        if value("sec-websocket-accept") != Some(self.accept.as_bytes()) {
            let why = "the server's Sec-WebSocket-Accept is not that of the key";
            return Err(Failure::connect(why));
        }
        if value("sec-websocket-extensions").is_some_and(|value| !value.is_empty()) {
            let why = "the server uses a WebSocket extension that was not asked for";
            return Err(Failure::connect(why));
        }
        Ok(Some(length))
    }
}

/// The proof for a key.
fn accept(key: &str) -> String {
    let both = [key, ADDED].concat();
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, both.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_is_that_of_the_standard_s_example() {
        assert_eq!(
            accept("dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }

    #[test]
    fn only_a_proven_switch_is_taken() {
        let target = Target::parse("http://h/chat").unwrap();
        let upgrade = Upgrade::new(&target, &[("X-A".into(), "b".into())], 1).unwrap();
        let mut request = Vec::new();
        upgrade.write(&mut Keys::new(None, 0, 0, (0, 1)), &mut request);
        let text = String::from_utf8(request).unwrap();
        assert!(
            text.starts_with("GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"),
            "{text}"
        );
        assert!(text.ends_with("\r\nX-A: b\r\n\r\n"), "{text}");
        let proof = format!("Sec-WebSocket-Accept: {}\r\n", upgrade.accept);
        let head = |status: &str, lines: &str| format!("HTTP/1.1 {status} X\r\n{lines}\r\n");
        let right = head("101", &format!("upgrade: WebSocket\r\n{proof}"));
        assert_eq!(upgrade.read(right.as_bytes()), Ok(Some(right.len())));
        assert_eq!(upgrade.read(&right.as_bytes()[..right.len() - 1]), Ok(None));
        for (head, why) in [
            (head("200", ""), "the server does not switch to WebSocket"),
            (
                head("101", &format!("Upgrade: h2c\r\n{proof}")),
                "the server switches to another protocol",
            ),
            (
                head("101", "Upgrade: websocket\r\n"),
                "the server's Sec-WebSocket-Accept is not that of the key",
            ),
            (
                head(
                    "101",
                    &format!("Upgrade: websocket\r\n{proof}Sec-WebSocket-Extensions: x\r\n"),
                ),
                "the server uses a WebSocket extension that was not asked for",
            ),
            ("rubbish\r\n\r\n".into(), "not an HTTP/1.1 head"),
            (
                "HTTP/1.1 101 X\r\nA: ".to_string() + &"b".repeat(LONGEST),
                "an endless head",
            ),
        ] {
            assert_eq!(upgrade.read(head.as_bytes()), Err(Failure::connect(why)));
        }
    }
}
