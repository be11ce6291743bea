//! gRPC over HTTP/2 (grpc.io, "gRPC over HTTP2"): one message is sent, and one or several come back.

use crate::expectation::BodyCheck;

/// HTTP's status of an answer that has messages, and the one that a call without an error counts as.
pub const OK: u16 = 200;

/// The status that a call counts as: by HTTP's status if that is none of success, otherwise by the
/// code in `grpc-status`; 200 for the code 0.
///
/// # Errors
/// The reason why the answer is none of gRPC.
pub fn status(http: u16, code: Option<u16>) -> Result<u16, &'static str> {
    match (http, code) {
        (OK, Some(0)) => Ok(OK),
        (OK, Some(code)) if code < 100 => Ok(code),
        (OK, Some(_)) => Err("an unknown grpc-status"),
        (OK, None) => Err("an answer without grpc-status"),
        (http, _) => Ok(http),
    }
}

/// Reads an answer's messages from pieces of any size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Messages {
    prefix: [u8; 5],
    filled: usize,
    /// Bytes of the message that are still to come.
    left: u32,
}

impl Messages {
    /// Give the messages' bytes, without their prefixes, to the check of the body.
    ///
    /// # Errors
    /// When a message is compressed, which was not asked for.
    pub fn feed(&mut self, bytes: &[u8], check: &mut BodyCheck) -> Result<(), &'static str> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.left > 0 {
                let here = rest.len().min(self.left as usize);
                check.update(&rest[..here]);
                self.left -= here as u32;
                rest = &rest[here..];
                continue;
            }
            let missing = (self.prefix.len() - self.filled).min(rest.len());
            self.prefix[self.filled..self.filled + missing].copy_from_slice(&rest[..missing]);
            self.filled += missing;
            rest = &rest[missing..];
            if self.filled == self.prefix.len() {
                let [flag, length @ ..] = self.prefix;
                if flag != 0 {
                    return Err("a compressed message, which was not asked for");
                }
                self.left = u32::from_be_bytes(length);
                self.filled = 0;
            }
        }
        Ok(())
    }

    /// Return true if no message is cut short.
    pub fn is_between(&self) -> bool {
        self.left == 0 && self.filled == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectation::Expectation;
    use proptest::prelude::*;

    fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
        let frame =
            |message: &Vec<u8>| [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat();
        messages.iter().flat_map(frame).collect()
    }

    #[test]
    fn a_call_s_code_is_its_status() {
        assert_eq!(status(200, Some(0)), Ok(200));
        assert_eq!(status(200, Some(12)), Ok(12));
        assert_eq!(status(503, None), Ok(503));
        assert_eq!(status(503, Some(0)), Ok(503));
        assert!(status(200, None).is_err() && status(200, Some(999)).is_err());
    }

    #[test]
    fn a_compressed_message_is_refused() {
        let mut check = Expectation::default().body_check();
        assert!(
            Messages::default()
                .feed(&[1, 0, 0, 0, 0], &mut check)
                .is_err()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::with_cases(100) })]

        #[test]
        fn messages_in_any_pieces_are_the_same(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
            cuts in prop::collection::vec(1usize..30, 0..20), lost in 0usize..3,
        ) {
            let bytes = framed(&messages);
            let lost = lost.min(bytes.len());
            let expect = Expectation {
                statuses: vec![200],
                body_sha256: Some(<sha2::Sha256 as sha2::Digest>::digest(messages.concat()).into()),
                ..Expectation::default()
            };
            let (mut reader, mut check) = (Messages::default(), expect.body_check());
            let mut rest = &bytes[..bytes.len() - lost];
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, later) = rest.split_at(cut.min(rest.len()));
                reader.feed(piece, &mut check).expect("messages");
                rest = later;
            }
            if lost == 0 {
                prop_assert!(reader.is_between());
                prop_assert_eq!(expect.judge(200, &mut check), None);
            } else if !messages.last().is_some_and(|last| last.is_empty()) {
                prop_assert!(!reader.is_between());
            }
        }
    }
}
