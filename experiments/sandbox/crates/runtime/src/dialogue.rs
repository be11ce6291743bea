//! The host's side of one call, independent of the transport: a worker sends callbacks and then its
//! response.

use prost::Message;

use crate::budget::Share;
use crate::call::Terms;
use crate::failure::Failure;
use crate::frame::{Decoder, frame};
use crate::message::{Any, Callback, InMemory, Io};
use crate::shared::Shared;

/// Bytes of answers to callbacks beyond a request's limit that a worker may leave unread.
const LENIENT: usize = 64 << 10;
/// Bytes for the message that a response is in memory, however short responses must be.
const ANNOUNCEMENT: usize = 64;

/// The host's state of one call.
pub struct Dialogue {
    terms: Terms,
    decoder: Decoder,
    callbacks: u32,
    /// The bytes to send to the worker.
    out: Vec<u8>,
    sent: usize,
    /// The memory for the response, unless it comes over the transport.
    memory: Option<Shared>,
    share: Option<Share>,
}

impl Dialogue {
    /// Begin a call with `request`.
    pub fn new(request: &[u8], terms: Terms) -> Self {
        Dialogue {
            decoder: Decoder::new(terms.limits.response_bytes),
            share: terms.caller.share(),
            terms,
            callbacks: 0,
            out: frame(request),
            sent: 0,
            memory: None,
        }
    }

    /// Begin a call whose request was passed in memory, and whose response will be in `memory`.
    pub fn in_memory(memory: Shared, terms: Terms) -> Self {
        Dialogue {
            decoder: Decoder::new(terms.limits.response_bytes.max(ANNOUNCEMENT)),
            share: terms.caller.share(),
            terms,
            callbacks: 0,
            out: Vec::new(),
            sent: 0,
            memory: Some(memory),
        }
    }

    /// Return the conditions of the call.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Return the bytes to send next.
    pub fn unsent(&self) -> &[u8] {
        &self.out[self.sent..]
    }

    /// Count `count` bytes as sent.
    pub fn sent(&mut self, count: usize) {
        self.sent += count;
    }

    /// Drop the bytes that are left to send: the worker receives no more.
    pub fn drop_unsent(&mut self) {
        self.sent = self.out.len();
    }

    /// Receive bytes from the worker. Return the response once it is complete; later bytes are
    /// ignored.
    ///
    /// # Errors
    ///
    /// When they break the protocol or a limit.
    pub fn recv(&mut self, mut bytes: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let refused = |error: crate::frame::FrameError| Failure::Protocol(error.to_string());
        while let Some(body) = self.decoder.feed(&mut bytes).map_err(refused)? {
            if let Some(response) = self.message(body)? {
                return Ok(Some(response));
            }
        }
        let held = self.decoder.held() + self.out.len();
        let fits = self.share.as_mut().is_none_or(|share| share.hold(held));
        if fits {
            Ok(None)
        } else {
            Err(Failure::Crowded)
        }
    }

    fn message(&mut self, body: Vec<u8>) -> Result<Option<Vec<u8>>, Failure> {
        if self.terms.functions.is_none() && self.memory.is_none() {
            return Ok(Some(body));
        }
        let broken = |error: prost::DecodeError| {
            Failure::Protocol(format!("no Any with a callback or a response: {error}"))
        };
        let any = Any::decode(&body[..]).map_err(broken)?;
        if any.type_url.is_empty() {
            return Err(Failure::Protocol(
                "no Any with a callback or a response: it names no type".into(),
            ));
        }
        if !any.is_callback() {
            let Some(memory) = &self.memory else {
                return Ok(Some(any.value));
            };
            if !any.is_in_memory() {
                let what = "a response on its socket, after a request in memory";
                return Err(Failure::Protocol(what.into()));
            }
            let said = InMemory::decode(&any.value[..]).map_err(broken)?;
            return memory.response(said.length).map(Some);
        }
        let Some(functions) = &self.terms.functions else {
            let what = "a callback, which what is loaded without --callbacks may not make";
            return Err(Failure::Protocol(what.into()));
        };
        let (length, limit) = (body.len(), self.terms.limits.response_bytes);
        if length > limit {
            let what = format!("{length} bytes of a callback, at most {limit} allowed");
            return Err(Failure::Protocol(what));
        }
        self.callbacks += 1;
        let most = self.terms.limits.callbacks;
        if self.callbacks > most {
            return Err(Failure::Protocol(format!("more than {most} callbacks")));
        }
        let mut callback = Callback::decode(&any.value[..]).map_err(broken)?;
        let input = callback
            .io_proto
            .take()
            .and_then(|io| io.input_bytes)
            .unwrap_or_default();
        let answer = match functions.0.get(&callback.function_name) {
            Some(function) => function(&input),
            None => Err(format!(
                "the host has no function {:?}",
                callback.function_name
            )),
        };
        callback.io_proto = Some(match answer {
            Ok(output) => Io {
                output_bytes: Some(output),
                ..Io::default()
            },
            Err(why) => Io {
                errors: vec![why],
                ..Io::default()
            },
        });
        self.queue(&callback.encode_to_vec())?;
        Ok(None)
    }

    fn queue(&mut self, message: &[u8]) -> Result<(), Failure> {
        self.out.drain(..self.sent);
        self.sent = 0;
        self.out.extend_from_slice(&frame(message));
        if self.out.len() > self.terms.limits.request_bytes.saturating_add(LENIENT) {
            let what = "more answers to callbacks than it reads, or than a request may have";
            return Err(Failure::Protocol(what.into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Caller, HostFunction, HostFunctions};
    use crate::limits::Limits;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use std::os::fd::AsFd;
    use std::sync::Arc;
    use std::time::Instant;

    fn terms(callbacks: Option<u32>) -> Terms {
        let mut functions = HostFunctions::default();
        let echo: HostFunction = Box::new(|input| Ok(input.to_vec()));
        functions.0.insert("echo".into(), echo);
        let limits = Limits {
            callbacks: callbacks.unwrap_or(0),
            ..Limits::default()
        };
        Terms {
            caller: Arc::new(Caller::new(None).unwrap()),
            until: Instant::now(),
            limits: Arc::new(limits),
            functions: callbacks.map(|_| Arc::new(functions)),
        }
    }

    fn dialogue(callbacks: Option<u32>) -> Dialogue {
        Dialogue::new(b"ask", terms(callbacks))
    }

    /// One with room for a response of four bytes in memory.
    fn in_memory(callbacks: Option<u32>) -> Dialogue {
        let (host, _guest) = std::os::unix::net::UnixStream::pair().unwrap();
        let memory = Shared::pass(host.as_fd(), b"ask", 4).unwrap();
        Dialogue::in_memory(memory, terms(callbacks))
    }

    fn length(length: u64) -> Vec<u8> {
        any("tare.InMemory", InMemory { length }.encode_to_vec())
    }

    fn any(type_url: &str, value: Vec<u8>) -> Vec<u8> {
        frame(
            &Any {
                type_url: type_url.into(),
                value,
            }
            .encode_to_vec(),
        )
    }

    fn callback(name: &str, input: &[u8]) -> Vec<u8> {
        let io = Io {
            input_bytes: Some(input.to_vec()),
            ..Io::default()
        };
        any(
            "x.Callback",
            Callback {
                function_name: name.into(),
                io_proto: Some(io),
            }
            .encode_to_vec(),
        )
    }

    #[test]
    fn callbacks_are_answered_before_the_response() {
        let mut host = dialogue(Some(2));
        assert_eq!(host.unsent(), b"\x03ask");
        host.sent(4);
        assert_eq!(host.recv(&callback("echo", b"in")), Ok(None));
        let answer = Callback::decode(&host.unsent()[1..]).unwrap();
        assert_eq!(
            answer.io_proto.and_then(|io| io.output_bytes),
            Some(b"in".to_vec())
        );
        host.sent(host.unsent().len());
        assert_eq!(host.recv(&callback("none", b"")), Ok(None));
        let answer = Callback::decode(&host.unsent()[1..]).unwrap();
        assert!(answer.io_proto.unwrap().errors[0].contains("no function"));
        assert!(matches!(
            host.recv(&callback("echo", b"")),
            Err(Failure::Protocol(_))
        ));
        let mut host = dialogue(Some(0));
        assert_eq!(
            host.recv(&any("x.Response", b"out".to_vec())),
            Ok(Some(b"out".to_vec()))
        );
        assert!(dialogue(Some(9)).recv(&frame(b"\xff")).is_err());
        assert!(dialogue(Some(9)).recv(&frame(b"")).is_err());
    }

    #[test]
    fn a_response_in_memory_is_announced_on_the_socket() {
        assert_eq!(in_memory(None).unsent(), b"");
        assert_eq!(in_memory(None).recv(&length(4)), Ok(Some(vec![0; 4])));
        let refused = |said: &[u8]| {
            let received = in_memory(None).recv(said);
            assert!(
                matches!(received, Err(Failure::Protocol(_))),
                "{received:?}"
            );
        };
        refused(&length(5));
        refused(&any("x.Response", b"out".to_vec()));
        refused(&callback("echo", b"in"));
        refused(&frame(b"out"));
        let mut host = in_memory(Some(1));
        assert_eq!(host.recv(&callback("echo", b"in")), Ok(None));
        assert!(!host.unsent().is_empty());
        assert_eq!(host.recv(&length(0)), Ok(Some(Vec::new())));
        assert!(dialogue(None).recv(&length(4)).unwrap().is_some());
    }

    #[test]
    fn without_callbacks_the_first_frame_is_the_response() {
        let mut host = dialogue(None);
        assert_eq!(host.recv(b"\x02o"), Ok(None));
        assert_eq!(host.recv(b"k and more"), Ok(Some(b"ok".to_vec())));
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(8), ..ProptestConfig::with_cases(256) })]

        #[test]
        fn any_bytes_are_received_or_refused(bytes in prop::collection::vec(any_byte(), 0..80), callbacks in any_callbacks()) {
            let _ = dialogue(callbacks).recv(&bytes);
            let _ = in_memory(callbacks).recv(&bytes);
        }
    }

    fn any_byte() -> impl Strategy<Value = u8> {
        prop_oneof![proptest::num::u8::ANY, Just(0x0a), Just(0x12), Just(0x02)]
    }

    fn any_callbacks() -> impl Strategy<Value = Option<u32>> {
        prop_oneof![Just(None), Just(Some(3))]
    }
}
