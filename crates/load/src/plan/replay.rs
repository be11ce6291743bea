//! The replay of an access log: its requests, and when they are sent.

use std::collections::HashMap;
use std::sync::Arc;

use super::requests::{Asked, Requests};
use super::targets::Targets;
use super::values::{can_send, positive};
use crate::engine::Load;
use crate::engine::log;
use crate::engine::picks::Choice;
use crate::protocol::ExchangeId;
use rand_xoshiro::rand_core::Rng;

use crate::random;
use crate::replay::{self, Entry, LogFormat, Sent};
use crate::spec::{Order, Pace, ReplaySpec, Spec, SpecError, Spread, default};
use crate::target::Scheme;

/// A log's requests at their times.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The requests, of which those that are the same are one.
    pub requests: Requests,
    /// Their times.
    pub log: log::Log,
    /// Requests in the log.
    pub entries: usize,
    /// Its lines or entries that are none.
    pub skipped: usize,
    /// Its format.
    pub format: LogFormat,
    /// Its length, in seconds of the run.
    pub length_s: f64,
}

/// The replay that `spec` describes, if it has one.
///
/// # Errors
/// A [`SpecError`] that names the field which cannot be used, or cannot be had with a replay.
pub fn replay(spec: &Spec, targets: &Targets) -> Result<Option<Replay>, SpecError> {
    let Some(replay) = &spec.replay else {
        return Ok(None);
    };
    check(spec, replay, targets)?;
    let bytes = std::fs::read(&replay.file).map_err(|why| {
        let found = format!("{} cannot be read ({why})", replay.file.display());
        SpecError::new("replay.file", found, "name a readable file")
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let log = replay::read(&text, replay.format).map_err(|fault| {
        let found = format!("{}: {fault}", replay.file.display());
        let remedy = "name a log of combined format, JSON lines, or HAR";
        SpecError::new("replay.file", found, remedy)
    })?;
    let (entries, skipped, format) = (log.entries.len(), log.skipped, log.format);
    let in_turns = spec.slices.is_some();
    let log = match in_turns {
        true => begun_anywhere(log, spec.seed),
        false => log,
    };
    let scaled = |time: u64| (time as f64 / replay.speed) as u64;
    let mut requests = Requests::default();
    let mut sizes = Vec::new();
    for common in Requests::of(spec, targets)?.all {
        let own = unique(&log.entries, &common, spec.seed, replay.expect_logged)?;
        let first = requests.all.len() as ExchangeId;
        let series = own.series.iter().map(|exchange| first + exchange);
        requests.choices.push(Choice::Turns(series.collect()));
        requests.all.extend(own.all);
        sizes.extend(own.sizes);
    }
    let repeat = replay.repeat || in_turns;
    Ok(Some(Replay {
        requests,
        log: log::Log {
            times: log.entries.iter().map(|entry| scaled(entry.at)).collect(),
            period: repeat.then_some(scaled(log.length).max(1)),
            sizes: sizes.into(),
        },
        entries,
        skipped,
        format,
        length_s: log.length as f64 / 1e9 / replay.speed,
    }))
}

/// The same log as it goes on from one of its requests, which the seed draws, and then from its
/// beginning: each duel of a run sees another part of a long log.
fn begun_anywhere(mut log: replay::Log, seed: u64) -> replay::Log {
    let first = (random::stream(seed, 0, random::Use::Picks).next_u64() % log.entries.len() as u64)
        as usize;
    let begin = log.entries[first].at;
    for entry in &mut log.entries[..first] {
        entry.at += log.length;
    }
    log.entries.rotate_left(first);
    log.entries.iter_mut().for_each(|entry| entry.at -= begin);
    log
}

impl Replay {
    /// Let `load` be that of this replay, which `spec` describes: its window ends with the log unless
    /// it begins again.
    ///
    /// # Errors
    /// A [`SpecError`] for more requests a second than the threads can send, and for a log that ends
    /// before the window.
    pub fn apply(&self, spec: &ReplaySpec, load: &mut Load) -> Result<(), SpecError> {
        if !spec.timed {
            return Ok(());
        }
        let rate = self.entries as f64 / self.length_s;
        can_send(rate, load.threads).map_err(|found| {
            SpecError::new(
                "replay.speed",
                found,
                "write a lower one, or take more threads",
            )
        })?;
        load.pace = Pace::Open {
            rate,
            arrivals: Spread::Log,
            wait: spec.wait,
        };
        if self.log.period.is_none() {
            let length = (self.length_s * 1e9) as u64;
            if load.warmup > 0 && load.warmup >= length {
                let warmup = load.warmup as f64 / 1e9;
                let found = format!("{warmup} s, and the log lasts {} s", self.length_s);
                let remedy = "write less, or let the log begin again";
                return Err(SpecError::new("warmup_s", found, remedy));
            }
            let left = (length - load.warmup).max(1);
            load.duration = load.duration.min(left);
        }
        load.log = Some(self.log.clone());
        Ok(())
    }
}

fn check(spec: &Spec, replay: &ReplaySpec, targets: &Targets) -> Result<(), SpecError> {
    let refuse = |field, found: &str, remedy| Err(SpecError::new(field, found, remedy));
    positive("replay.speed", replay.speed)?;
    if !spec.targets.is_empty() && spec.slices.is_none() {
        return refuse(
            "replay",
            "several targets",
            "write one url, or let them take turns",
        );
    }
    if spec.targets.iter().any(|target| !target.mix.is_empty()) {
        return refuse("replay", "a mix beside a log", "leave out one of them");
    }
    if targets.scheme() == Scheme::Tcp {
        return refuse("replay", "a log is of HTTP", "write http:// or https://");
    }
    if matches!(spec.protocol.as_str(), "ws" | "grpc") {
        return refuse("replay", "a log is of HTTP", "take h1, h2 or h3");
    }
    if !spec.mix.is_empty() {
        return refuse("replay", "a mix beside a log", "leave out one of them");
    }
    let keyed = spec.targets.iter().any(|target| target.keys.is_some());
    let own = [
        ("method", spec.method != default::method()),
        ("body", spec.body.is_some()),
        ("keys", keyed || spec.keys.is_some()),
        ("mix_order", spec.mix_order != Order::default()),
    ];
    if let Some((field, _)) = own.into_iter().find(|(_, given)| *given) {
        let found = "the requests of a log have their own";
        return refuse(field, found, "leave it out beside replay");
    }
    if spec.pace != Pace::CLOSED || spec.think.is_some() || spec.profile.is_some() {
        let remedy = "leave out loop and think, and choose a speed";
        return refuse("replay", "a log has its own times", remedy);
    }
    Ok(())
}

/// The different requests of a log, and the sizes of their answers by it.
#[derive(Default)]
struct Unique {
    all: Vec<Asked>,
    sizes: Vec<Option<u64>>,
    /// The request of each entry.
    series: Vec<ExchangeId>,
}

fn unique(
    entries: &[Entry],
    common: &Asked,
    seed: u64,
    expect_logged: bool,
) -> Result<Unique, SpecError> {
    let mut unique = Unique::default();
    let mut known: HashMap<Entry, ExchangeId> = HashMap::new();
    for entry in entries {
        let key = Entry {
            at: 0,
            ..entry.clone()
        };
        let next = unique.all.len() as ExchangeId;
        let exchange = *known.entry(key).or_insert(next);
        if exchange == next {
            unique.all.push(asked(entry, common, seed, expect_logged)?);
            unique.sizes.push(entry.size);
        }
        unique.series.push(exchange);
    }
    Ok(unique)
}

/// The request of an entry, beside what is `common` to all.
fn asked(
    entry: &Entry,
    common: &Asked,
    seed: u64,
    expect_logged: bool,
) -> Result<Asked, SpecError> {
    let mut expect = common.expect.clone();
    // Some servers log 0 where a client had gone.
    let logged = entry.status.filter(|status| (100..1000).contains(status));
    if let Some(status) = logged.filter(|_| expect_logged) {
        expect.statuses = match status {
            // A log has neither the conditions nor the ranges that led to these.
            304 | 206 => vec![200, status],
            // The client had gone.
            499 => expect.statuses,
            status => vec![status],
        };
    }
    let mut asked = common.with_headers(&entry.headers);
    asked.target = common.target.at(&entry.path)?;
    asked.method = super::requests::method(&entry.method)?;
    asked.body = match &entry.body {
        Sent::Nothing => None,
        Sent::Size(size) => Some(Arc::from(random::bytes(seed, *size))),
        Sent::Bytes(bytes) => Some(Arc::from(bytes.as_slice())),
    };
    asked.expect = expect;
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(line: &str) -> Entry {
        let mut log = replay::read(line, None).unwrap();
        log.entries.swap_remove(0)
    }

    fn common() -> Asked {
        let json = r#"{"url": "http://h/", "headers": {"User-Agent": "own", "X-A": "1"}}"#;
        let spec = Spec::from_json(json).unwrap();
        let mut requests = Requests::of(&spec, &Targets::of(&spec).unwrap()).unwrap();
        requests.all.swap_remove(0)
    }

    #[test]
    fn a_log_may_begin_anywhere_and_loses_nothing() {
        let lines: Vec<String> = [0, 3, 4, 9]
            .iter()
            .map(|at| format!(r#"{{"time": {at}.5, "uri": "/{at}"}}"#))
            .collect();
        let log = replay::read(&lines.join("\n"), None).unwrap();
        let gaps = |log: &replay::Log| {
            let next = log.entries.iter().skip(1).map(|entry| entry.at);
            let ends = next.chain([log.length]);
            let pairs = log.entries.iter().zip(ends);
            let mut gaps: Vec<_> = pairs
                .map(|(entry, end)| (entry.path.clone(), end - entry.at))
                .collect();
            gaps.sort();
            gaps
        };
        let mut firsts = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let begun = begun_anywhere(log.clone(), seed);
            assert_eq!((begun.entries[0].at, begun.length), (0, log.length));
            assert_eq!(gaps(&begun), gaps(&log));
            firsts.insert(begun.entries[0].path.clone());
        }
        assert_eq!(firsts.len(), 4);
    }

    #[test]
    fn what_a_log_has_of_its_own_is_refused_beside_it() {
        for (field, given) in [
            ("method", r#""method": "PUT""#),
            ("body", r#""body": {"size": 3}"#),
            ("keys", r#""keys": {"count": 5}"#),
            ("mix_order", r#""mix_order": "turns""#),
        ] {
            let json = format!(r#"{{"url": "http://h/", "replay": {{"file": "f"}}, {given}}}"#);
            let spec = Spec::from_json(&json).unwrap();
            let error = replay(&spec, &Targets::of(&spec).unwrap()).unwrap_err();
            let words = format!("{field}: the requests of a log have their own; ");
            assert!(error.to_string().starts_with(&words), "{error}");
        }
    }

    #[test]
    fn equal_requests_are_one() {
        let line = |second: u32, path: &str, size: u32| {
            entry(&format!(
                "h - - [10/Oct/2000:13:55:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 {size}"
            ))
        };
        let entries = [
            line(1, "/a", 5),
            line(2, "/b", 5),
            line(3, "/a", 5),
            line(4, "/a", 6),
        ];
        let unique = unique(&entries, &common(), 1, true).unwrap();
        assert_eq!(unique.series, [0, 1, 0, 2]);
        assert_eq!(unique.sizes, [Some(5), Some(5), Some(6)]);
    }

    #[test]
    fn a_log_says_what_answer_is_right() {
        let statuses = |status: u32, logged: bool| {
            let line = format!("h - - [10/Oct/2000:13:55:01 +0000] \"GET / HTTP/1.1\" {status} 1");
            asked(&entry(&line), &common(), 1, logged)
                .unwrap()
                .expect
                .statuses
        };
        assert_eq!(statuses(404, true), [404]);
        assert_eq!(statuses(304, true), [200, 304]);
        assert_eq!(statuses(499, true), [200]);
        assert_eq!(statuses(404, false), [200]);
    }

    #[test]
    fn a_body_of_the_logged_length_stands_for_one_that_is_not_there() {
        let entry = entry(
            r#"{"time": 1, "uri": "/", "method": "PUT", "body_size": 9, "headers": {"user-agent": "x"}}"#,
        );
        let asked = asked(&entry, &common(), 1, true).unwrap();
        assert_eq!(asked.body.as_deref().map(<[u8]>::len), Some(9));
        let names: Vec<_> = asked
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["X-A", "user-agent"]);
    }
}
