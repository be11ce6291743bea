//! Transport parameters without those that mean nothing.

use std::sync::Arc;

use quinn_proto::crypto::{ClientConfig, Session};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, Side};

/// Starts a session that offers no reserved transport parameter.
///
/// The library adds one with a random number to each handshake, which servers must ignore (RFC 9000,
/// section 18.1). nginx 1.28.3 looks at 16 bits of the number only, takes one in some thousands for a
/// parameter that it knows, and refuses: errors that are the generator's luck and not the load's.
pub struct Ungreased<C>(pub Arc<C>);

impl<C: ClientConfig> ClientConfig for Ungreased<C> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let mut encoded = Vec::new();
        params.write(&mut encoded);
        let known = TransportParameters::read(Side::Server, &mut encoded.as_slice())
            .expect("what the library wrote itself");
        self.0.clone().start_session(version, server_name, &known)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::time::Instant;

    use quinn_proto::coding::Codec;
    use quinn_proto::{Endpoint, EndpointConfig, VarInt};

    use super::*;

    /// Notes the numbers of the parameters, and starts nothing.
    #[derive(Default)]
    struct Recorder(Mutex<BTreeSet<u64>>);

    impl ClientConfig for Recorder {
        fn start_session(
            self: Arc<Self>,
            _: u32,
            _: &str,
            params: &TransportParameters,
        ) -> Result<Box<dyn Session>, ConnectError> {
            let mut encoded = Vec::new();
            params.write(&mut encoded);
            let mut rest = encoded.as_slice();
            while !rest.is_empty() {
                let [number, length] = [(); 2].map(|()| VarInt::decode(&mut rest).unwrap());
                rest = &rest[length.into_inner() as usize..];
                self.0.lock().unwrap().insert(number.into_inner());
            }
            Err(ConnectError::EndpointStopping)
        }
    }

    fn numbers(config: Arc<dyn ClientConfig>, recorder: &Recorder) -> BTreeSet<u64> {
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None);
        for _ in 0..20 {
            let config = quinn_proto::ClientConfig::new(config.clone());
            let remote = "127.0.0.1:1".parse().unwrap();
            let begun = endpoint.connect(Instant::now(), config, remote, "localhost");
            assert!(matches!(begun, Err(ConnectError::EndpointStopping)));
        }
        recorder.0.lock().unwrap().clone()
    }

    #[test]
    fn only_parameters_with_a_meaning_are_sent() {
        let reserved = |numbers: &BTreeSet<u64>| numbers.iter().any(|number| number % 31 == 27);
        let (plain, wrapped) = (Arc::new(Recorder::default()), Arc::new(Recorder::default()));
        let sent = numbers(plain.clone(), &plain);
        assert!(reserved(&sent), "the library's own: {sent:?}");
        let kept = numbers(Arc::new(Ungreased(wrapped.clone())), &wrapped);
        let meant = sent.into_iter().filter(|number| number % 31 != 27);
        assert_eq!(kept, meant.collect());
        assert!(!reserved(&kept) && kept.len() > 5);
    }
}
