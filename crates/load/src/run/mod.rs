//! Runs a spec, with any protocol.

mod auto;

use std::borrow::Cow;
use std::io::BufWriter;
use std::mem;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::answers::Keeper;
use crate::cache_header::CacheHeader;
use crate::dialogue::Dialogue;
use crate::echo::{Echo, Messages};
use crate::engine::{self, Load, Observer, Outcome};
pub use crate::error::Error;
use crate::expectation::Exchange;
use crate::h1::users::Users;
use crate::h1::{self, H1};
use crate::h2::{self, H2};
use crate::h3::{self, H3};
use crate::keys::Keys;
use crate::pipeline::Pipeline;
use crate::plan::requests::{Asked, Compose, Requests};
use crate::plan::targets::Targets;
use crate::plan::{self, asking, fits, mix, replay, sequence};
use crate::proto::{Call, Proto};
use crate::protocol::Protocol;
use crate::report::header::{Described, Header};
use crate::report::replay::ReplayReport;
use crate::report::result::{Answered, Result as Report};
use crate::report::times;
use crate::sample::{Sampled, Samples};
use crate::spec::{KeySpec, Spec, SpecError, Tls};
use crate::start;
use crate::stream::Stream;
use crate::stream::endpoint::{Address, Endpoint};
use crate::stream::plain::Plain;
use crate::stream::tls;
use crate::stream::tls::negotiated::TlsReport;
use crate::stream::tls::terms::Terms;
use crate::stream::tls::trust::Trust;
use crate::target::Scheme;
use crate::websocket::{Upgrade, WebSocket};

/// Make the load that `spec` describes, and report progress to `observer`. A set `interrupt` ends
/// it early, without a result before it begins; set again, it ends the wait for the last answers.
///
/// # Errors
/// When the spec cannot be used, or the kernel or the observer refuses.
pub fn run(
    spec: &Spec,
    observer: &mut (impl Observer + ?Sized),
    interrupt: &AtomicBool,
) -> Result<Report, Error> {
    let mut spec = mix::expand(spec)?;
    if spec.ask {
        spec = Cow::Owned(asking::spec(&spec)?);
    }
    let spec = &*spec;
    let targets = Targets::of(spec)?;
    fits::check(spec)?;
    sequence::check(spec)?;
    let mut replay = replay::replay(spec, &targets)?;
    let mut requests = match &mut replay {
        Some(replay) => mem::take(&mut replay.requests),
        None => Requests::of(spec, &targets)?,
    };
    let mut load = plan::load(spec, requests.choices.clone())?;
    match (&replay, &spec.replay) {
        _ if spec.ask => asking::apply(&mut requests, &mut load)?,
        (Some(replay), Some(spec)) => replay.apply(spec, &mut load)?,
        _ => {}
    }
    let requests = &requests;
    if spec.tls != Tls::default() && targets.scheme() != Scheme::Https {
        let found = format!("{} has no TLS", targets.scheme().name());
        return Err(SpecError::new("tls", found, "write https://").into());
    }
    let endpoints = targets.endpoints(spec)?;
    let loopback = endpoints
        .iter()
        .flat_map(|each| &each.addresses)
        .all(Address::is_loopback);
    let trust = Trust::of(&spec.tls, loopback)?;
    let times_file = spec.times_file.as_deref().map(times::create).transpose()?;
    let mut job = Job {
        spec,
        requests,
        endpoints,
        trust,
        targets: &targets,
        load: &load,
        observer,
        interrupt,
        samples: Vec::new(),
        header: None,
    };
    let protocol = match spec.protocol.as_str() {
        "auto" => job.negotiated()?,
        named => named,
    };
    if spec.show > 0 && matches!(protocol, "h2" | "h3" | "grpc" | "ws") {
        let found = format!("{protocol} has no text to show");
        return Err(SpecError::new("show", found, "take h1").into());
    }
    let shown = Some(trust).filter(|_| targets.scheme() == Scheme::Https);
    job.header = Some(Header::new(spec, &load, protocol, shown));
    let (outcome, tls) = match protocol {
        "h1" => job.h1()?,
        "h2" => job.h2()?,
        "h3" => job.h3()?,
        "grpc" => job.grpc()?,
        "ws" => job.websocket()?,
        "echo" => job.echo()?,
        "proto" => job.proto()?,
        other => {
            let found = format!("{other:?} is unknown");
            let remedy = "write h1, h2, h3, auto, grpc, ws, echo or proto";
            return Err(SpecError::new("protocol", found, remedy).into());
        }
    };
    let mut report = Report::new(protocol, &targets.names(spec), &load, &outcome);
    report.replay = replay.as_ref().map(|replay| {
        let counts = (replay.entries, replay.skipped);
        let replayed = &outcome.tally.replayed;
        ReplayReport::new(replay.format, counts, replay.length_s, replayed)
    });
    report.samples = job.samples;
    report.url = spec.url.clone();
    if spec.ask {
        report.answers = requests.all.iter().map(answered).collect();
    }
    if let Some(file) = times_file {
        report.times_dropped = times::dropped(&outcome);
        report.times_fault = times::write(BufWriter::new(file), &outcome).err();
    }
    (report.tls, report.certificates) = (tls, shown);
    Ok(report)
}

/// A request that was asked, and its answer.
fn answered(asked: &Asked) -> Answered {
    Answered {
        request: asking::name(asked),
        answer: asked.expect.keeper.as_ref().and_then(Keeper::kept),
    }
}

type Done = (Outcome, Option<TlsReport>);

struct Job<'a, O: ?Sized> {
    spec: &'a Spec,
    requests: &'a Requests,
    targets: &'a Targets,
    endpoints: Vec<Endpoint>,
    trust: Trust,
    load: &'a Load,
    observer: &'a mut O,
    interrupt: &'a AtomicBool,
    /// The answers that were kept.
    samples: Vec<String>,
    /// The description of the run, until it begins.
    header: Option<Header>,
}

impl<'a, O: Observer + ?Sized> Job<'a, O> {
    fn h1(&mut self) -> Result<Done, Error> {
        if self.spec.sequence.is_some() {
            return self.users();
        }
        let exchanges = self.exchanges(h1::request::compose)?;
        let Spec { depth, .. } = *self.spec;
        let (cache, keys) = (self.cache_header()?, self.keys());
        let dialogue = |thread| {
            let h1 = H1::new(&exchanges, keys(thread)).with_cache_header(&cache);
            Pipeline::new(h1, depth)
        };
        self.in_order(tls::HTTP1, dialogue)
    }

    /// Run users of HTTP/1.1 that send sequences of requests.
    fn users(&mut self) -> Result<Done, Error> {
        sequence::one_at_a_time(self.spec)?;
        let sequences = sequence::sequences(self.spec, self.requests, h1::valued::compose)?;
        let (cache, keys) = (self.cache_header()?, self.keys());
        let dialogue = |thread| {
            let users = Users::new(&sequences, keys(thread)).with_cache_header(&cache);
            Pipeline::new(users, 1)
        };
        self.in_order(tls::HTTP1, dialogue)
    }

    fn h2(&mut self) -> Result<Done, Error> {
        if self.spec.sequence.is_some() {
            let sequences = sequence::sequences(self.spec, self.requests, h2::request::of_user)?;
            return self.in_streams(|depth, keys| H2::of_users(&sequences, depth, keys));
        }
        let exchanges = self.exchanges(h2::request::compose)?;
        self.in_streams(|depth, keys| H2::new(&exchanges, depth, keys))
    }

    fn grpc(&mut self) -> Result<Done, Error> {
        let mut exchanges = self.exchanges(h2::call::compose)?;
        exchanges
            .iter_mut()
            .for_each(|exchange| exchange.grpc = true);
        self.in_streams(|depth, keys| H2::new(&exchanges, depth, keys))
    }

    /// Run HTTP/2 as `made` for the streams of a connection and a thread's keys.
    fn in_streams<'e>(
        &mut self,
        made: impl Fn(usize, Vec<Keys>) -> H2<'e> + Sync,
    ) -> Result<Done, Error> {
        let Spec { depth, .. } = *self.spec;
        let (cache, keys) = (self.cache_header()?, self.keys());
        let dialogue = |thread| made(depth, keys(thread)).with_cache_header(cache.clone());
        self.over_stream(tls::HTTP2, dialogue)
    }

    fn h3(&mut self) -> Result<Done, Error> {
        let setup = self.quic()?;
        if self.spec.sequence.is_some() {
            let sequences = sequence::sequences(self.spec, self.requests, h3::request::of_user)?;
            return self.over_quic(|depth, keys| H3::of_users(&setup, &sequences, depth, keys));
        }
        let exchanges = self.exchanges(h3::request::compose)?;
        self.over_quic(|depth, keys| H3::new(&setup, &exchanges, depth, keys))
    }

    /// The servers of HTTP/3.
    fn quic(&self) -> Result<h3::Setup, SpecError> {
        self.targets.are(Scheme::Https, "h3")?;
        if self.spec.proxy_protocol.is_some() {
            let found = "QUIC has no PROXY header";
            return Err(SpecError::new("proxy_protocol", found, "take h1 or h2"));
        }
        let terms = self.terms(h3::ALPN)?;
        let hosts = self.targets.iter().map(|(target, _)| target.host());
        let name = |host: &str| self.spec.tls.server_name.clone().unwrap_or(host.into());
        let endpoints = self.endpoints.clone();
        let timeout = Duration::from_nanos(self.load.timeouts.answer);
        h3::Setup::new(endpoints, hosts.map(name).collect(), terms.quic(), timeout)
    }

    /// Run HTTP/3 as `made` for the streams of a connection and a thread's keys.
    fn over_quic<'e>(
        &mut self,
        made: impl Fn(usize, Vec<Keys>) -> H3<'e> + Sync,
    ) -> Result<Done, Error> {
        let Spec { depth, .. } = *self.spec;
        let (cache, keys) = (self.cache_header()?, self.keys());
        let protocol = |thread| made(depth, keys(thread)).with_cache_header(cache.clone());
        let encryption = || Some("TLS 1.3 in QUIC".into());
        Ok((self.execute(protocol, encryption)?, None))
    }

    fn websocket(&mut self) -> Result<Done, Error> {
        let Spec { depth, seed, .. } = *self.spec;
        let upgrade = |(target, _): (&_, _)| Upgrade::new(target, &self.spec.headers, seed);
        let upgrades: Result<Vec<Upgrade>, SpecError> = self.targets.iter().map(upgrade).collect();
        let upgrades = upgrades?;
        let messages = self.messages()?;
        let keys = self.keys();
        let dialogue = |thread| WebSocket::new(&upgrades, &messages, depth, keys(thread), thread);
        self.over_stream(tls::HTTP1, dialogue)
    }

    fn echo(&mut self) -> Result<Done, Error> {
        self.targets.are(Scheme::Tcp, "echo")?;
        let messages = self.messages()?;
        let Spec { depth, .. } = *self.spec;
        let dialogue = |thread| Pipeline::new(Echo::new(&messages, thread), depth);
        self.in_order(&[], dialogue)
    }

    fn proto(&mut self) -> Result<Done, Error> {
        self.targets.are(Scheme::Tcp, "proto")?;
        let message = plan::body(self.spec.body.as_ref(), self.spec.seed)?.unwrap_or_default();
        let call = |asked: &Asked| Call::new(&message, asked.expect.clone());
        let calls: Vec<Call> = self.requests.all.iter().map(call).collect();
        let Spec { depth, .. } = *self.spec;
        self.in_order(&[], |_| Pipeline::new(Proto(&calls), depth))
    }

    /// The messages to be echoed.
    fn messages(&self) -> Result<Messages, SpecError> {
        let size = plan::size_of_message(self.spec)?;
        let keeper = self.requests.all.first();
        let keeper = keeper.and_then(|asked| asked.expect.keeper.clone());
        Ok(Messages::new(self.spec.seed, size).kept_by(keeper))
    }

    /// The requests as HTTP sends them, each with its expected answer.
    fn exchanges<R>(&self, compose: Compose<R>) -> Result<Vec<Exchange<R>>, SpecError> {
        self.targets.are_http(&self.spec.protocol)?;
        let file = self.spec.mix_file.as_deref();
        self.requests.exchanges(compose, file)
    }

    fn cache_header(&self) -> Result<CacheHeader, SpecError> {
        CacheHeader::new(self.spec.cache_header.as_deref())
    }

    /// Run each thread's `dialogue`, which answers in order, and keep the first answers if asked to.
    fn in_order<D: Dialogue>(
        &mut self,
        alpn: &[u8],
        dialogue: impl Fn(usize) -> D + Sync,
    ) -> Result<Done, Error> {
        if self.spec.show == 0 {
            return self.over_stream(alpn, dialogue);
        }
        let samples = Samples::new(self.spec.show);
        let sampled = |thread| Sampled::new(dialogue(thread), &samples);
        let done = self.over_stream(alpn, sampled)?;
        self.samples = samples.into_kept();
        Ok(done)
    }

    /// Run each thread's `dialogue` with the targets: in TLS with `alpn` if their URLs begin with
    /// https://, otherwise plain.
    fn over_stream<D: Dialogue>(
        &mut self,
        alpn: &[u8],
        dialogue: impl Fn(usize) -> D + Sync,
    ) -> Result<Done, Error> {
        let endpoints = self.endpoints.clone();
        if self.targets.scheme() != Scheme::Https {
            let protocol = |thread| Stream::new(&endpoints, dialogue(thread), Plain::default());
            let encryption = || Some("not encrypted".into());
            return Ok((self.execute(protocol, encryption)?, None));
        }
        let terms = self.terms(alpn)?;
        let layer = || tls::Tls::new(&terms);
        let outcome = self.execute(
            |thread| Stream::new(&endpoints, dialogue(thread), layer()),
            || terms.handshakes.cipher(),
        )?;
        Ok((outcome, Some(terms.handshakes.report())))
    }

    /// Run each thread's `protocol`; `encryption` returns what is known of it so far.
    fn execute<P: Protocol>(
        &mut self,
        protocol: impl Fn(usize) -> P + Sync,
        encryption: impl Fn() -> Option<String>,
    ) -> Result<Outcome, Error> {
        let header = self.header.take();
        let mut observer = Described::new(header, encryption, &mut *self.observer);
        if let Some(file) = &self.spec.start_file {
            start::wait(file, &mut observer, self.interrupt)?;
        }
        Ok(engine::run(
            self.load,
            protocol,
            &mut observer,
            self.interrupt,
        )?)
    }

    fn terms(&self, alpn: &[u8]) -> Result<Terms, SpecError> {
        let hosts = self.targets.iter().map(|(target, _)| target.host());
        Terms::of(&self.spec.tls, self.trust, hosts, alpn)
    }

    /// Each thread's keys, by target.
    fn keys(&self) -> impl Fn(usize) -> Vec<Keys> + Sync + use<'a, O> {
        let (load, seed) = (self.load, self.spec.seed);
        let keys = self.targets.keys(self.spec);
        move |thread| {
            let places = load.places(thread);
            let own = |(target, spec): (usize, &Option<KeySpec>)| {
                // A thread without connections to the target draws none.
                let place = places[target].unwrap_or((0, 1));
                Keys::new(*spec, seed, target, place)
            };
            keys.iter().enumerate().map(own).collect()
        }
    }
}
