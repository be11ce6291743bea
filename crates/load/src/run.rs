//! Runs a spec, whatever its protocol is.

use std::io;
use std::sync::atomic::AtomicBool;

use crate::dialogue::Dialogue;
use crate::echo::{Echo, Messages};
use crate::engine::{self, Load, Observer, Outcome};
use crate::h1::H1;
use crate::keys::Keys;
use crate::plan::http;
use crate::plan::targets::Targets;
use crate::plan::{self, expectation};
use crate::proto::{Call, Proto};
use crate::report::result::Result as Report;
use crate::spec::{Spec, SpecError, Tls};
use crate::stream::Stream;
use crate::stream::plain::Plain;
use crate::stream::tls;
use crate::stream::tls::seen::TlsReport;
use crate::stream::tls::terms::Terms;
use crate::target::Scheme;

/// Why there is no result.
#[derive(Debug)]
pub enum Error {
    /// The spec cannot be used.
    Usage(SpecError),
    /// Something else failed.
    Other(io::Error),
}

impl From<SpecError> for Error {
    fn from(error: SpecError) -> Self {
        Error::Usage(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Other(error)
    }
}

/// Makes the load that `spec` asks for, and tells `observer` how it goes on. A set `interrupt` ends
/// it early.
///
/// # Errors
/// When the spec cannot be used, or the kernel or the observer refuses.
pub fn run(
    spec: &Spec,
    observer: &mut (impl Observer + ?Sized),
    interrupt: &AtomicBool,
) -> Result<Report, Error> {
    let targets = Targets::of(spec)?;
    let load = plan::load(spec)?;
    if spec.tls != Tls::default() && targets.scheme() != Scheme::Https {
        let found = format!("{} has no TLS", targets.scheme().name());
        return Err(SpecError::new("tls", found, "write https://").into());
    }
    let plain = |outcome| (outcome, None);
    let (outcome, tls) = match spec.protocol.as_str() {
        "h1" => h1(spec, &targets, &load, observer, interrupt)?,
        "echo" => plain(echo(spec, &targets, &load, observer, interrupt)?),
        "proto" => plain(proto(spec, &targets, &load, observer, interrupt)?),
        other => {
            let found = format!("{other:?} is not known here");
            let remedy = "write h1, h2, h3, echo or proto";
            return Err(SpecError::new("protocol", found, remedy).into());
        }
    };
    let mut report = Report::new(&spec.protocol, &targets.urls(spec), &load, &outcome);
    report.tls = tls;
    Ok(report)
}

/// Leads a thread's `dialogue` with the targets; in TLS, where `alpn` is asked for, if their URLs
/// begin with https://.
fn over_stream<D: Dialogue>(
    spec: &Spec,
    targets: &Targets,
    load: &Load,
    alpn: &[u8],
    dialogue: impl Fn(usize) -> D + Sync,
    observer: &mut (impl Observer + ?Sized),
    interrupt: &AtomicBool,
) -> Result<(Outcome, Option<TlsReport>), Error> {
    let endpoints = targets.endpoints(spec)?;
    if targets.scheme() != Scheme::Https {
        let protocol = |thread| Stream::new(&endpoints, dialogue(thread), Plain::default());
        return Ok((engine::run(load, protocol, observer, interrupt)?, None));
    }
    let hosts = targets.iter().map(|(target, _)| target.host());
    let terms = Terms::of(&spec.tls, hosts, alpn)?;
    let protocol = |thread| Stream::new(&endpoints, dialogue(thread), tls::Tls::new(&terms));
    let outcome = engine::run(load, protocol, observer, interrupt)?;
    Ok((outcome, Some(terms.seen.report())))
}

fn h1(
    spec: &Spec,
    targets: &Targets,
    load: &Load,
    observer: &mut (impl Observer + ?Sized),
    interrupt: &AtomicBool,
) -> Result<(Outcome, Option<TlsReport>), Error> {
    let exchanges = http::h1(&http::requests(spec, targets)?)?;
    let method = http::method(spec)?;
    let dialogue = |thread| {
        let keys = Keys::new(spec.keys, spec.seed, thread);
        H1::new(&method, &exchanges, spec.depth, keys)
    };
    let alpn = tls::HTTP1;
    over_stream(spec, targets, load, alpn, dialogue, observer, interrupt)
}

fn echo(
    spec: &Spec,
    targets: &Targets,
    load: &Load,
    observer: &mut (impl Observer + ?Sized),
    interrupt: &AtomicBool,
) -> Result<Outcome, Error> {
    targets.are(Scheme::Tcp, &spec.protocol)?;
    let messages = Messages::new(spec.seed, plan::size_of_message(spec)?);
    let endpoints = targets.endpoints(spec)?;
    let protocol = |thread| {
        let echo = Echo::new(&messages, spec.depth, thread);
        Stream::new(&endpoints, echo, Plain::default())
    };
    Ok(engine::run(load, protocol, observer, interrupt)?)
}

fn proto(
    spec: &Spec,
    targets: &Targets,
    load: &Load,
    observer: &mut (impl Observer + ?Sized),
    interrupt: &AtomicBool,
) -> Result<Outcome, Error> {
    targets.are(Scheme::Tcp, &spec.protocol)?;
    let message = plan::body(spec)?.unwrap_or_default();
    let call = |(_, expect): (_, &_)| Ok(Call::new(&message, expectation(expect)?));
    let calls: Result<Vec<Call>, SpecError> = targets.iter().map(call).collect();
    let calls = calls?;
    let endpoints = targets.endpoints(spec)?;
    let protocol = |_| Stream::new(&endpoints, Proto::new(&calls, spec.depth), Plain::default());
    Ok(engine::run(load, protocol, observer, interrupt)?)
}
