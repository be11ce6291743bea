//! The version of HTTP that servers choose.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::Job;
use crate::engine::Observer;
use crate::error::Error;
use crate::spec::SpecError;
use crate::stream::tls;
use crate::target::Scheme;

impl<O: Observer + ?Sized> Job<'_, O> {
    /// The version of HTTP that all servers choose in TLS, h2 rather than h1; h1 without TLS.
    pub(super) fn negotiated(&self) -> Result<&'static str, Error> {
        if self.targets.scheme() != Scheme::Https {
            return Ok("h1");
        }
        let terms = self.terms(tls::HTTP2)?;
        let timeout = Duration::from_secs_f64(self.load.timeouts.connect as f64 / 1e9);
        let mut chosen = None;
        for (target, endpoint) in self.endpoints.iter().enumerate() {
            let offer = [tls::HTTP2, tls::HTTP1];
            let found = tls::probe::alpn(&terms, target, endpoint, &offer, timeout, self.interrupt);
            if found.is_err() && self.interrupt.load(Relaxed) {
                return Err(Error::Stopped);
            }
            // The spec can be used: it is the server that is dead.
            let found = found.map_err(|why| {
                let found = self.targets.iter().nth(target);
                let (url, _) = found.expect("one for each endpoint");
                let place = url.place(&self.spec.connect_to);
                io::Error::other(format!(
                    "protocol auto: {place} did not say which version of HTTP it speaks: {why}; \
                     check the URL and its server, or write h1, h2 or h3"
                ))
            })?;
            let name = match found.as_deref() {
                Some(tls::HTTP2) => "h2",
                _ => "h1",
            };
            if *chosen.get_or_insert(name) != name {
                let found = "the servers choose different ones";
                return Err(SpecError::new("protocol", found, "write h1 or h2").into());
            }
        }
        Ok(chosen.unwrap_or("h1"))
    }
}
