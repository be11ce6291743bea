//! The description of a run for people, given before its first event.

use std::io::{self, Write};

use super::counted::counted;
use crate::engine::progress::Second;
use crate::engine::{Load, Observer, Phase};
use crate::spec::{Pace, Spec, Spread, Think};
use crate::stream::tls::trust::Trust;
use crate::target::Target;
use crate::time::format_us;

/// Most URLs that are named.
const URLS: usize = 3;

/// The description of a run, whose encryption shows only when it is under way.
#[derive(Debug)]
pub struct Header {
    target: String,
    protocol: &'static str,
    trust: Option<Trust>,
    rest: String,
}

impl Header {
    /// The description of `load`, made of `spec`, over `protocol`; `trust` is the way in which
    /// certificates are verified, if the servers have any.
    pub fn new(spec: &Spec, load: &Load, protocol: &str, trust: Option<Trust>) -> Self {
        Header {
            target: target(spec, protocol),
            protocol: name(protocol),
            trust,
            rest: format!(
                "loop          {}\nconnections   {}\nduration      {}\n",
                pace(spec, load),
                connections(spec, load),
                duration(spec, load),
            ),
        }
    }

    /// The description with what is known of the encryption, `encryption`.
    fn text(&self, encryption: &str) -> String {
        let Header {
            target,
            protocol,
            rest,
            ..
        } = self;
        let trust = match self.trust {
            Some(trust) => format!("certificates  {trust}\n"),
            None => String::new(),
        };
        format!("target        {target}\nprotocol      {protocol}, {encryption}\n{trust}{rest}")
    }
}

/// The protocol by the name that people know.
fn name(protocol: &str) -> &'static str {
    match protocol {
        "h1" => "HTTP/1.1",
        "h2" => "HTTP/2",
        "h3" => "HTTP/3",
        "grpc" => "gRPC over HTTP/2",
        "ws" => "WebSocket",
        "proto" => "messages with their length before them",
        _ => "bytes that the server echoes",
    }
}

fn target(spec: &Spec, protocol: &str) -> String {
    let single = spec.url.iter();
    let urls: Vec<&str> = single
        .chain(spec.targets.iter().map(|target| &target.url))
        .map(|url| match spec.mix_file {
            // Its requests have paths of their own.
            Some(_) => origin(url),
            None => url,
        })
        .collect();
    let named = urls.iter().copied().take(URLS).collect::<Vec<_>>();
    let mut text = named.join(", ");
    if urls.len() > URLS {
        text += &format!(" and {} more", urls.len() - URLS);
    }
    if let Some(replay) = &spec.replay {
        return format!("{text}, requests of the log {}", replay.file.display());
    }
    if let Some(file) = &spec.mix_file {
        let order = match spec.sequence {
            Some(_) => ", in sequence",
            None => "",
        };
        return format!("{text}, requests of {}{order}", file.display());
    }
    match protocol {
        "h1" | "h2" | "h3" => format!("{} {text}", spec.method),
        _ => text,
    }
}

fn pace(spec: &Spec, load: &Load) -> String {
    let limited = |limit: Option<f64>| match limit {
        Some(limit) => format!(", at most {limit} requests/s"),
        None => String::new(),
    };
    match load.pace {
        Pace::Open { .. } if load.log.is_some() => "open: at the times of the log".into(),
        // The end of the window, and the mean with it, is not known.
        Pace::Open { .. } if spec.profile.is_some() && load.requests.is_some() => {
            "open: by the clock, at a rate that changes by --profile".into()
        }
        Pace::Open { rate, .. } if spec.profile.is_some() => {
            format!("open: {rate:.1} requests/s on average by the clock, changing by --profile")
        }
        Pace::Open { rate, arrivals, .. } => {
            let spread = match arrivals {
                Spread::Even => "evenly spaced",
                Spread::Bursts => "in bursts of a millisecond",
                Spread::Poisson | Spread::Log => "at random times (Poisson)",
            };
            format!("open: {rate} requests/s by the clock, {spread}")
        }
        Pace::Serial { limit } => format!("closed: one request at a time{}", limited(limit)),
        Pace::Closed { limit } => {
            let pause = match load.think {
                Some(think) => format!(" after a pause of {}", delay(think)),
                None => String::new(),
            };
            format!(
                "closed: each answer brings the next request{pause}{}",
                limited(limit)
            )
        }
    }
}

fn delay(think: Think) -> String {
    let time = |seconds: f64| format_us(seconds * 1e6);
    match think {
        Think::Fixed { s } => time(s),
        Think::Uniform { min_s, max_s } => format!("{} to {}", time(min_s), time(max_s)),
        Think::Exponential { mean_s } => format!("{} on average", time(mean_s)),
    }
}

fn connections(spec: &Spec, load: &Load) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let depth = match spec.depth {
        1 => String::new(),
        depth => format!(" with up to {depth} requests each"),
    };
    let (connections, threads) = (load.connections(), load.threads);
    format!(
        "{connections}{depth}, on {threads} thread{}",
        plural(threads)
    )
}

fn duration(spec: &Spec, load: &Load) -> String {
    let seconds = |ns: u64| format!("{} s", ns as f64 / 1e9);
    let window = match (load.requests, load.log.is_some()) {
        (Some(requests), _) if spec.is_unbounded() => counted(requests as f64),
        (Some(requests), _) => format!(
            "{} ({} at most)",
            counted(requests as f64),
            seconds(load.duration)
        ),
        (None, true) if spec.is_unbounded() => "until the log ends".into(),
        (None, _) => seconds(load.duration),
    };
    match load.warmup {
        0 => window,
        warmup => format!("{window}, after a warm-up of {}", seconds(warmup)),
    }
}

/// Passes events on, behind the description: as soon as the encryption is known, but before the
/// first event in any case.
pub struct Described<'a, O: ?Sized, E> {
    header: Option<Header>,
    encryption: E,
    observer: &'a mut O,
}

impl<'a, O: Observer + ?Sized, E: Fn() -> Option<String>> Described<'a, O, E> {
    /// Begin with `header`, if there is one; `encryption` returns what is known of it so far.
    pub fn new(header: Option<Header>, encryption: E, observer: &'a mut O) -> Self {
        Described {
            header,
            encryption,
            observer,
        }
    }

    fn describe(&mut self, known: Option<String>) -> io::Result<()> {
        let Some(header) = self.header.take() else {
            return Ok(());
        };
        let known = known.unwrap_or_else(|| "no TLS handshake so far".into());
        self.observer.described(&header.text(&known))
    }
}

impl<O: Observer + ?Sized, E: Fn() -> Option<String>> Observer for Described<'_, O, E> {
    fn ready(&mut self) -> io::Result<()> {
        self.observer.ready()
    }

    fn look(&mut self) -> io::Result<()> {
        if self.header.is_none() {
            return Ok(());
        }
        match (self.encryption)() {
            Some(known) => self.describe(Some(known)),
            None => Ok(()),
        }
    }

    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        self.describe((self.encryption)())?;
        self.observer.second(second, phase)
    }

    fn measure(&mut self, t_s: f64) -> io::Result<()> {
        self.describe((self.encryption)())?;
        self.observer.measure(t_s)
    }

    fn measured(&mut self, t_s: f64) -> io::Result<()> {
        self.observer.measured(t_s)
    }
}

/// Writes the description and nothing else.
#[derive(Debug)]
pub struct Heading<W>(pub W);

impl<W: Write> Observer for Heading<W> {
    fn described(&mut self, text: &str) -> io::Result<()> {
        match self
            .0
            .write_all(text.as_bytes())
            .and_then(|()| self.0.flush())
        {
            // A reader that has gone does not end the run.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done,
        }
    }

    fn second(&mut self, _: &Second, _: Phase) -> io::Result<()> {
        Ok(())
    }

    fn measure(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }

    fn measured(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
}

/// A URL without its path, if there is one beside the `/` that it has at least.
fn origin(url: &str) -> &str {
    let parsed = Target::parse(url).ok().filter(|target| target.path != "/");
    parsed
        .and_then(|target| url.strip_suffix(target.path.as_str()))
        .unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::spec::default;

    fn described(json: &str, protocol: &str, trust: Option<Trust>) -> String {
        told(&Spec::from_json(json).unwrap(), protocol, trust)
    }

    fn told(spec: &Spec, protocol: &str, trust: Option<Trust>) -> String {
        let load = crate::plan::load(spec, vec![]).unwrap();
        Header::new(spec, &load, protocol, trust).text("not encrypted")
    }

    #[test]
    fn requests_of_a_file_go_to_an_origin() {
        let two = r#"[{"url": "http://a/x"}, {"url": "http://b:8/y?z"}]"#;
        for (urls, origins) in [
            (r#""url": "http://a/""#, "http://a/"),
            (r#""url": "http://a:1/x""#, "http://a:1"),
            (&format!(r#""targets": {two}"#), "http://a, http://b:8"),
        ] {
            let json = format!(r#"{{{urls}, "mix_file": "f", "connections": 2}}"#);
            let line = format!("target        {origins}, requests of f\n");
            assert!(described(&json, "h1", None).starts_with(&line), "{line}");
        }
    }

    #[test]
    fn a_closed_loop_says_what_is_done() {
        let text = described(r#"{"url": "http://a/", "connections": 20}"#, "h1", None);
        assert_eq!(
            text,
            "target        GET http://a/\n\
             protocol      HTTP/1.1, not encrypted\n\
             loop          closed: each answer brings the next request\n\
             connections   20, on 1 thread\n\
             duration      10 s, after a warm-up of 1 s\n"
        );
        let json = r#"{"url": "http://a/", "requests": 7, "warmup_s": 0, "duration_s": 3600,
                       "loop": {"kind": "serial", "limit": 5}}"#;
        let mut spec = Spec::from_json(json).unwrap();
        let text = told(&spec, "h1", None);
        assert!(
            text.contains("\nloop          closed: one request at a time, at most 5 requests/s\n")
        );
        let end = "on 1 thread\nduration      7 requests";
        assert!(
            text.ends_with(&format!("{end} (3600 s at most)\n")),
            "{text}"
        );
        spec.duration_s = default::UNBOUNDED_S;
        let text = told(&spec, "h1", None);
        assert!(text.ends_with(&format!("{end}\n")), "{text}");
    }

    #[test]
    fn an_open_loop_says_its_rate_and_spread() {
        let json = r#"{"url": "https://a/", "loop": {"kind": "open", "rate": 50, "arrivals": "even"},
                       "depth": 4}"#;
        let text = described(json, "h2", Some(Trust::Insecure));
        assert!(text.contains("\nloop          open: 50 requests/s by the clock, evenly spaced\n"));
        assert!(text.contains("\nconnections   64 with up to 4 requests each, on 1 thread\n"));
        assert!(
            text.contains("\ncertificates  not verified, as was asked for\n"),
            "{text}"
        );
    }

    #[test]
    fn many_urls_are_counted() {
        let url = |name: &str| format!(r#"{{"url": "http://{name}/"}}"#);
        let targets = ["a", "b", "c", "d", "e"].map(url).join(", ");
        let text = described(&format!(r#"{{"targets": [{targets}]}}"#), "h1", None);
        let first = text.lines().next();
        assert_eq!(
            first,
            Some("target        GET http://a/, http://b/, http://c/ and 2 more")
        );
    }

    #[test]
    fn the_description_waits_for_the_handshake_but_not_beyond_the_first_event() {
        let header = || {
            let spec = Spec::from_json(r#"{"url": "http://a/"}"#).unwrap();
            let load = crate::plan::load(&spec, vec![]).unwrap();
            Header::new(&spec, &load, "h1", None)
        };
        let known = Cell::new(false);
        let encryption = || known.get().then(|| "TLS 1.3".to_string());
        let mut text = Vec::new();
        let mut to = Heading(&mut text);
        let mut described = Described::new(Some(header()), encryption, &mut to);
        described.look().unwrap();
        assert!(described.header.is_some());
        known.set(true);
        described.look().unwrap();
        described.measure(0.0).unwrap();
        let mut late = Described::new(Some(header()), || None, &mut to);
        late.measure(0.0).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.matches("HTTP/1.1, TLS 1.3\n").count(), 1);
        assert_eq!(
            text.matches("HTTP/1.1, no TLS handshake so far\n").count(),
            1
        );
    }
}
