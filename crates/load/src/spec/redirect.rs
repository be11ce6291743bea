//! Other places to connect to than those that URLs name.

use std::collections::BTreeMap;

use super::error::SpecError;
use crate::decimal::decimal;

/// Places by those that they stand for, both as `HOST:PORT`.
pub type Redirects = BTreeMap<String, String>;

/// The place to connect to for `host` and `port`: another one if `redirects` has it.
///
/// # Errors
/// A [`SpecError`] for one that is no place.
pub fn place(redirects: &Redirects, host: &str, port: u16) -> Result<(String, u16), SpecError> {
    for (from, to) in redirects {
        let (known, at) = split(from)?;
        let to = split(to)?;
        if at == port && known.eq_ignore_ascii_case(host) {
            return Ok(to);
        }
    }
    Ok((host.into(), port))
}

/// The first place of `redirects` that is none of `places`, the hosts and ports of URLs.
///
/// # Errors
/// A [`SpecError`] for one that is no place.
pub fn unused<'r>(
    redirects: &'r Redirects,
    places: &[(&str, u16)],
) -> Result<Option<&'r str>, SpecError> {
    for from in redirects.keys() {
        let (host, port) = split(from)?;
        let used = |(other, at): &(&str, u16)| *at == port && other.eq_ignore_ascii_case(&host);
        if !places.iter().any(used) {
            return Ok(Some(from));
        }
    }
    Ok(None)
}

/// Host and port of `HOST:PORT`, an IPv6 address in brackets.
fn split(text: &str) -> Result<(String, u16), SpecError> {
    let read = || {
        let (host, digits) = text.rsplit_once(':')?;
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let port = u16::try_from(decimal(digits.as_bytes())?).ok();
        let port = port.filter(|port| *port > 0)?;
        let known = bare.is_some() || !host.contains([':', '[', ']']);
        (known && !host.is_empty()).then(|| (bare.unwrap_or(host).to_string(), port))
    };
    read().ok_or_else(|| {
        let found = format!("{text:?} is not a place");
        SpecError::new(
            "connect_to",
            found,
            "write HOST:PORT, an IPv6 address in brackets",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(from: &str, to: &str) -> Result<(String, u16), SpecError> {
        place(
            &Redirects::from([(from.into(), to.into())]),
            "a.example",
            80,
        )
    }

    #[test]
    fn a_place_stands_for_another() {
        let wanted = |host: &str, port| Ok((host.to_string(), port));
        assert_eq!(
            found("A.example:80", "127.0.0.1:8080"),
            wanted("127.0.0.1", 8080)
        );
        assert_eq!(found("a.example:80", "[::1]:81"), wanted("::1", 81));
        assert_eq!(found("a.example:81", "h:1"), wanted("a.example", 80));
        assert_eq!(found("b.example:80", "h:1"), wanted("a.example", 80));
    }

    #[test]
    fn a_place_that_no_url_has_is_found() {
        let two = ["a.example:80", "[::1]:81"].map(|from| (from.to_string(), "h:1".to_string()));
        let redirects = Redirects::from(two);
        let unused = |places: &[(&str, u16)]| unused(&redirects, places).unwrap();
        assert_eq!(unused(&[("A.example", 80), ("::1", 81)]), None);
        assert_eq!(unused(&[("a.example", 80), ("::1", 80)]), Some("[::1]:81"));
    }

    #[test]
    fn what_is_no_place_is_named() {
        for bad in [
            "", "h", "h:", ":80", "h:0", "h:65536", "h:+1", "::1:80", "[::1:80", "[::1]", "h:x",
        ] {
            for (from, to) in [(bad, "h:1"), ("a.example:80", bad)] {
                let error = found(from, to).unwrap_err().to_string();
                assert!(error.starts_with("connect_to: "), "{error}");
            }
        }
    }
}
