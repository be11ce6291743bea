//! Checks the slices of a duel.

use super::values::{nanoseconds, positive};
use crate::engine::accounts::Accounts;
use crate::engine::slices::Slices;
use crate::spec::{AccountFiles, Pace, Spec, SpecError};

/// The slices that `spec` describes, if it has some.
///
/// # Errors
/// A [`SpecError`] that names the field which cannot be used, or cannot be had with slices.
pub fn slices(spec: &Spec) -> Result<Option<Slices>, SpecError> {
    let Some(slices) = spec.slices else {
        return Ok(None);
    };
    let refuse = |field, found: &str, remedy| Err(SpecError::new(field, found, remedy));
    if spec.targets.len() < 2 {
        return refuse(
            "slices",
            "fewer than two targets",
            "write targets that take turns",
        );
    }
    if spec.threads != 1 {
        return refuse("threads", "several threads for slices", "take one");
    }
    if !matches!(spec.pace, Pace::Open { .. } | Pace::Closed { limit: None }) {
        return refuse(
            "loop",
            "a limit for slices",
            "take an open loop, or a closed one without limit",
        );
    }
    if spec.requests.is_some() {
        return refuse(
            "requests",
            "a number of requests for slices",
            "take a duration",
        );
    }
    if let Some(entry) = spec
        .targets
        .iter()
        .find(|entry| entry.closed || entry.weight != 1.0)
    {
        let found = format!("{} has a weight or a loop of its own", entry.url);
        return refuse(
            "targets",
            &found,
            "leave them out: in its slice a target gets all of the load",
        );
    }
    positive("slices.length_ms", slices.length_ms)?;
    if !(0.0..slices.length_ms).contains(&slices.lead_in_ms) {
        let found = format!("{} ms", slices.lead_in_ms);
        return refuse(
            "slices.lead_in_ms",
            &found,
            "write less than slices.length_ms",
        );
    }
    positive("slices.gap_us", slices.gap_us)?;
    Ok(Some(Slices {
        length: nanoseconds("slices.length_ms", slices.length_ms / 1e3)?,
        lead_in: nanoseconds("slices.lead_in_ms", slices.lead_in_ms / 1e3)?,
        gap: nanoseconds("slices.gap_us", slices.gap_us / 1e6)?,
    }))
}

/// The files with the CPU time of each target's groups.
///
/// # Errors
/// A [`SpecError`] for files without slices, and for one that cannot be read.
pub fn accounts(spec: &Spec) -> Result<Vec<AccountFiles>, SpecError> {
    let field = "targets.accounts";
    for target in spec
        .targets
        .iter()
        .filter(|target| !target.accounts.is_empty())
    {
        if spec.slices.is_none() {
            return Err(SpecError::new(
                field,
                "no slices",
                "write slices, or leave it out",
            ));
        }
        let remedy = "name a cpuacct.usage or a cpu.stat";
        Accounts::open(&target.accounts).map_err(|why| SpecError::new(field, why, remedy))?;
    }
    Ok(spec
        .targets
        .iter()
        .map(|target| target.accounts.clone())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &str) -> Result<Option<Slices>, SpecError> {
        slices(&Spec::from_json(&format!("{{{fields}}}")).unwrap())
    }

    #[test]
    fn slices_are_read() {
        assert_eq!(of(r#""url": "http://a/""#).unwrap(), None);
        let two = r#""targets": [{"url": "http://a/"}, {"url": "http://b/"}],
            "slices": {"length_ms": 2, "lead_in_ms": 0.5}"#;
        let expected = Slices {
            length: 2_000_000,
            lead_in: 500_000,
            gap: 100_000,
        };
        assert_eq!(of(two).unwrap(), Some(expected));
    }

    #[test]
    fn accounts_need_slices_and_files_that_can_be_read() {
        let of = |fields: &str| accounts(&Spec::from_json(&format!("{{{fields}}}")).unwrap());
        let targets = |file: &str| {
            format!(
                r#""targets": [{{"url": "http://a/", "accounts": {{"sut": "{file}"}}}}, {{"url": "http://b/"}}]"#
            )
        };
        let slices = r#""slices": {"length_ms": 2}"#;
        for (fields, words) in [
            (targets("/proc/uptime"), "targets.accounts: no slices"),
            (
                format!("{}, {slices}", targets("/nowhere")),
                "targets.accounts: /nowhere: ",
            ),
            (
                format!("{}, {slices}", targets("/proc/version")),
                "no CPU time",
            ),
        ] {
            let error = of(&fields).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let two = r#""targets": [{"url": "http://a/"}, {"url": "http://b/"}]"#;
        assert_eq!(of(&format!("{two}, {slices}")).unwrap().len(), 2);
    }

    #[test]
    fn what_slices_cannot_have_is_named() {
        let two = r#""targets": [{"url": "http://a/"}, {"url": "http://b/"}]"#;
        for (field, fields) in [
            ("slices", r#""url": "http://a/", "slices": {"length_ms": 2}"#.to_string()),
            ("threads", format!(r#"{two}, "threads": 2, "slices": {{"length_ms": 2}}"#)),
            ("loop", format!(r#"{two}, "loop": {{"kind": "serial"}}, "slices": {{"length_ms": 2}}"#)),
            ("requests", format!(r#"{two}, "requests": 9, "slices": {{"length_ms": 2}}"#)),
            ("slices.length_ms", format!(r#"{two}, "slices": {{"length_ms": 0}}"#)),
            ("slices.lead_in_ms", format!(r#"{two}, "slices": {{"length_ms": 1, "lead_in_ms": 1}}"#)),
            (
                "targets",
                r#""targets": [{"url": "http://a/", "weight": 2}, {"url": "http://b/"}], "slices": {"length_ms": 1}"#.to_string(),
            ),
        ] {
            let error = of(&fields).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{field}: ")), "{error}");
        }
    }
}
