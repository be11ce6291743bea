//! Checks the profile of a rate.

use std::path::Path;

use super::values::{can_send, nanoseconds, positive};
use crate::engine::rates::Rates;
use crate::spec::{Pace, Profile, Spec, SpecError, default};

/// Points by which a wave of a sine is drawn: the error is below 0.2 % of its amplitude.
const WAVE: usize = 64;

/// Shortest wave, in seconds: an hour of them is a quarter of a million points.
const SHORTEST: f64 = 1.0;

/// Most points of a file.
const MOST: usize = 1_000_000;

/// The rate over the run's time by `spec`'s profile, if it has one, and the mean in the window.
///
/// # Errors
/// A [`SpecError`] that names the field which cannot be used, or cannot be had with a profile.
pub fn rates(spec: &Spec) -> Result<Option<(Rates, f64)>, SpecError> {
    let Some(profile) = &spec.profile else {
        return Ok(None);
    };
    let refuse = |found: &str, remedy| Err(SpecError::new("profile", found, remedy));
    let Pace::Open { rate, .. } = spec.pace else {
        return refuse("a loop without a rate", "take an open loop");
    };
    if spec.slices.is_some() {
        return refuse("slices beside it", "leave out one of them");
    }
    let unbounded = spec.is_unbounded();
    let drawn_s = default::LONGEST_S - spec.warmup_s;
    // Over whole waves the mean of a sine is the rate.
    let needed_s = spec.requests.map_or(0.0, |requests| requests as f64 / rate);
    if unbounded && matches!(profile, Profile::Sine { .. }) && needed_s > drawn_s {
        let found = format!("{needed_s:.0} s of requests, and a sine is drawn for an hour");
        return refuse(&found, "take fewer requests, or a duration");
    }
    let (length_s, last_s) = match unbounded {
        true => (drawn_s, drawn_s),
        false => (spec.duration_s + spec.cooldown_s, default::LONGEST_S),
    };
    let mut points = vec![(0.0, rate), (spec.warmup_s, rate)];
    let relative = points_of(profile, rate, (length_s, last_s))?;
    points.extend(
        relative
            .into_iter()
            .map(|(at, rate)| (spec.warmup_s + at, rate)),
    );
    let mut last = 0.0;
    for (at, rate) in &points {
        nanoseconds("profile", *at)?;
        if !(rate.is_finite() && *rate >= 0.0) {
            return refuse(&format!("a rate of {rate}"), "write 0 or more");
        }
        if *at < last {
            return refuse(
                "a time before the one above it",
                "write them in their order",
            );
        }
        last = *at;
    }
    let rates = Rates::through(&points);
    can_send(rates.peak(), spec.threads).map_err(|found| {
        SpecError::new("profile", found, "write lower rates, or take more threads")
    })?;
    if unbounded {
        // Its end, and the mean with it, is not known.
        return Ok(Some((rates, rate)));
    }
    let (start, end) = (spec.warmup_s, spec.warmup_s + spec.duration_s);
    let mean = (rates.sends_by(end) - rates.sends_by(start)) / spec.duration_s;
    Ok(Some((rates, mean)))
}

/// The points of a profile, with times from the opening of the window, which lasts `length_s`;
/// those of a wave end at `last_s`.
fn points_of(
    profile: &Profile,
    rate: f64,
    (length_s, last_s): (f64, f64),
) -> Result<Vec<(f64, f64)>, SpecError> {
    Ok(match profile {
        Profile::Ramp { to, s } => {
            positive("profile.s", *s)?;
            vec![(*s, *to)]
        }
        Profile::Spike { to, at_s, s } => {
            positive("profile.s", *s)?;
            let end = at_s + s;
            vec![(*at_s, rate), (*at_s, *to), (end, *to), (end, rate)]
        }
        Profile::Sine {
            amplitude,
            period_s,
        } => {
            if period_s.is_nan() || *period_s < SHORTEST {
                let found = format!("{period_s} is too short");
                let remedy = format!("write {SHORTEST} second or more");
                return Err(SpecError::new("profile.period_s", found, remedy));
            }
            if !(0.0..=rate).contains(amplitude) {
                let found = format!("{amplitude} for a rate of {rate}");
                return Err(SpecError::new(
                    "profile.amplitude",
                    found,
                    "write 0 to the rate",
                ));
            }
            let step = period_s / WAVE as f64;
            let count = (length_s / step).ceil() as usize;
            let point = |number: usize| {
                let phase = (number % WAVE) as f64 / WAVE as f64 * std::f64::consts::TAU;
                (
                    number as f64 * step,
                    (rate + amplitude * phase.sin()).max(0.0),
                )
            };
            (0..=count)
                .map(point)
                .take_while(|(at, _)| *at <= last_s)
                .collect()
        }
        Profile::Points { points } => some(points.clone(), "profile.points")?,
        Profile::File { file } => some(read(file)?, "profile.file")?,
    })
}

fn some(points: Vec<(f64, f64)>, field: &str) -> Result<Vec<(f64, f64)>, SpecError> {
    if points.is_empty() {
        return Err(SpecError::new(field, "no point", "write seconds and rates"));
    }
    Ok(points)
}

/// The points of a file: `SECONDS RATE` a line, with blanks, a comma or a semicolon between them.
fn read(file: &Path) -> Result<Vec<(f64, f64)>, SpecError> {
    let text = std::fs::read_to_string(file).map_err(|why| {
        let found = format!("{} cannot be read ({why})", file.display());
        SpecError::new("profile.file", found, "name a readable file")
    })?;
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let point = |(index, line): (usize, &str)| {
        let mut numbers = line
            .split([' ', '\t', ',', ';'])
            .filter(|word| !word.is_empty())
            .map(|word| word.parse::<f64>().ok());
        match (
            numbers.next().flatten(),
            numbers.next().flatten(),
            numbers.next(),
        ) {
            (Some(at), Some(rate), None) => Ok((at, rate)),
            _ => {
                let found = format!("{}:{}: {line:?}", file.display(), index + 1);
                Err(SpecError::new(
                    "profile.file",
                    found,
                    "write `SECONDS RATE` a line",
                ))
            }
        }
    };
    let points: Vec<_> = lines.take(MOST + 1).map(point).collect::<Result<_, _>>()?;
    if points.len() > MOST {
        let found = format!("more than {MOST} points");
        return Err(SpecError::new("profile.file", found, "leave some out"));
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(profile: &str) -> Result<(Rates, f64), SpecError> {
        let json = format!(
            r#"{{"url": "u", "loop": {{"kind": "open", "rate": 100}}, "warmup_s": 2, "duration_s": 10,
                "profile": {profile}}}"#
        );
        let found = rates(&Spec::from_json(&json)?)?;
        Ok(found.expect("a profile"))
    }

    #[test]
    fn profiles_begin_with_the_window() {
        for (profile, mean, peak) in [
            (r#"{"kind": "ramp", "to": 300, "s": 10}"#, 200.0, 300.0),
            (r#"{"kind": "ramp", "to": 0, "s": 5}"#, 25.0, 100.0),
            (
                r#"{"kind": "spike", "to": 600, "at_s": 4, "s": 1}"#,
                150.0,
                600.0,
            ),
            (
                r#"{"kind": "sine", "amplitude": 100, "period_s": 5}"#,
                100.0,
                200.0,
            ),
            (
                r#"{"kind": "points", "points": [[0, 50], [5, 50], [5, 150]]}"#,
                100.0,
                150.0,
            ),
        ] {
            let (rates, found) = of(profile).unwrap();
            assert!((found - mean).abs() < 1e-6, "{profile}: {found}");
            assert!(
                (rates.peak() - peak).abs() < 1e-6,
                "{profile}: {}",
                rates.peak()
            );
            assert_eq!(rates.sends_by(2.0), 200.0, "{profile}");
        }
    }

    #[test]
    fn what_is_no_profile_is_named() {
        for (field, profile) in [
            ("profile.s", r#"{"kind": "ramp", "to": 300, "s": 0}"#),
            ("profile", r#"{"kind": "ramp", "to": -1, "s": 1}"#),
            ("profile", r#"{"kind": "ramp", "to": 1e9, "s": 1}"#),
            (
                "profile",
                r#"{"kind": "spike", "to": 1, "at_s": 99999, "s": 1}"#,
            ),
            (
                "profile",
                r#"{"kind": "spike", "to": 1, "at_s": -1, "s": 1}"#,
            ),
            (
                "profile.period_s",
                r#"{"kind": "sine", "amplitude": 1, "period_s": 0.01}"#,
            ),
            (
                "profile.amplitude",
                r#"{"kind": "sine", "amplitude": 101, "period_s": 1}"#,
            ),
            ("profile.points", r#"{"kind": "points", "points": []}"#),
            (
                "profile",
                r#"{"kind": "points", "points": [[2, 1], [1, 1]]}"#,
            ),
            (
                "profile.file",
                r#"{"kind": "file", "file": "/nonexistent"}"#,
            ),
        ] {
            let error = of(profile).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{field}: ")), "{error}");
        }
        let closed =
            Spec::from_json(r#"{"url": "u", "profile": {"kind": "ramp", "to": 1, "s": 1}}"#);
        assert!(rates(&closed.unwrap()).is_err());
    }

    #[test]
    fn a_sine_is_drawn_for_an_hour_and_not_for_longer() {
        let of = |requests: u64| {
            let json = format!(
                r#"{{"url": "u", "loop": {{"kind": "open", "rate": 100}}, "warmup_s": 2,
                    "requests": {requests},
                    "profile": {{"kind": "sine", "amplitude": 50, "period_s": 5}}}}"#
            );
            let mut spec = Spec::from_json(&json).unwrap();
            spec.duration_s = default::UNBOUNDED_S;
            rates(&spec)
        };
        let (_, mean) = of(359_000).unwrap().unwrap();
        assert_eq!(mean, 100.0);
        let error = of(360_000).unwrap_err().to_string();
        assert!(
            error.starts_with("profile: 3600 s of requests, "),
            "{error}"
        );
    }
}
