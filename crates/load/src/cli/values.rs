//! Parsers of single arguments.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::spec::{Profile, ProxyVersion, Think};
use crate::time::seconds;

/// A header as `Name: value`.
pub fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `Name: value`")?;
    Ok((name.trim().into(), value.trim().into()))
}

/// A name and a password.
pub fn user(text: &str) -> Result<String, String> {
    match text.contains(':') {
        true => Ok(text.into()),
        false => Err("write NAME:PASSWORD; the password may be empty".into()),
    }
}

/// Another address for a place, `HOST:PORT:ADDRESS`, as a pair of places.
pub fn resolve(text: &str) -> Result<(String, String), String> {
    let (from, address) = places(text)?;
    let port = from.rsplit_once(':').map_or("", |(_, port)| port);
    let address = match address.parse() {
        Ok(IpAddr::V4(address)) => format!("{address}:{port}"),
        Ok(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        Err(_) if address.starts_with('[') => format!("{address}:{port}"),
        Err(_) => {
            return Err(format!(
                "{address:?} is not an address; --connect-to takes names"
            ));
        }
    };
    Ok((from, address))
}

/// Another place for one, `HOST:PORT:HOST2:PORT2`.
pub fn connect_to(text: &str) -> Result<(String, String), String> {
    places(text)
}

/// The first place of `HOST:PORT:REST`, whose host may be an IPv6 address in brackets, and the rest.
fn places(text: &str) -> Result<(String, String), String> {
    let host = text
        .strip_prefix('[')
        .and_then(|rest| rest.find(']'))
        .map_or(0, |end| end + 2);
    let split = || {
        let port = host + text.get(host..)?.find(':')? + 1;
        let end = port + text[port..].find(':')?;
        Some((text[..end].to_string(), text[end + 1..].to_string()))
    };
    split().ok_or_else(|| "write HOST:PORT first, and the other after a colon".into())
}

/// An address to listen at: `PORT`, for this machine alone, or `ADDRESS:PORT`.
pub fn listen(text: &str) -> Result<SocketAddr, String> {
    let port = text
        .parse()
        .map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    let address = port.or_else(|_| text.parse());
    // Nobody would know the port that the kernel chooses.
    let known = address.ok().filter(|address| address.port() > 0);
    known.ok_or_else(|| "write PORT or ADDRESS:PORT, with a port above 0".into())
}

/// The version of a PROXY header.
pub fn proxy_version(text: &str) -> Result<ProxyVersion, String> {
    let number: u8 = text.parse().map_err(|_| "write 1 or 2".to_string())?;
    ProxyVersion::try_from(number).map_err(String::from)
}

/// A rate over time: `ramp:TO:TIME`, `spike:TO:AT:TIME`, `sine:AMPLITUDE:PERIOD` or `file:FILE`.
pub fn profile(text: &str) -> Result<Profile, String> {
    let rate = |text: &str| {
        let rate: Result<f64, _> = text.parse();
        rate.map_err(|_| format!("{text:?} is not a rate"))
    };
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let words: Vec<&str> = rest.split(':').collect();
    match (kind, &words[..]) {
        ("ramp", [to, time]) => Ok(Profile::Ramp {
            to: rate(to)?,
            s: seconds(time)?,
        }),
        ("spike", [to, at, time]) => Ok(Profile::Spike {
            to: rate(to)?,
            at_s: seconds(at)?,
            s: seconds(time)?,
        }),
        ("sine", [amplitude, period]) => Ok(Profile::Sine {
            amplitude: rate(amplitude)?,
            period_s: seconds(period)?,
        }),
        ("file", _) if !rest.is_empty() => Ok(Profile::File { file: rest.into() }),
        _ => Err("write ramp:TO:TIME, spike:TO:AT:TIME, sine:AMPLITUDE:PERIOD or file:FILE".into()),
    }
}

/// A distribution of delays: `1s`, `uniform:0.5s..2s` or `exp:1s`.
pub fn think(text: &str) -> Result<Think, String> {
    if let Some(bounds) = text.strip_prefix("uniform:") {
        let (min, max) = bounds
            .split_once("..")
            .ok_or("write it as uniform:0.5s..2s")?;
        return Ok(Think::Uniform {
            min_s: seconds(min)?,
            max_s: seconds(max)?,
        });
    }
    match text.strip_prefix("exp:") {
        Some(mean) => Ok(Think::Exponential {
            mean_s: seconds(mean)?,
        }),
        None => Ok(Think::Fixed { s: seconds(text)? }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_brackets_where_they_need_them() {
        let pair = |from: &str, to: &str| Ok((from.to_string(), to.to_string()));
        assert_eq!(resolve("a:80:127.0.0.1"), pair("a:80", "127.0.0.1:80"));
        assert_eq!(resolve("a:80:::1"), pair("a:80", "[::1]:80"));
        assert_eq!(resolve("[::1]:80:[::2]"), pair("[::1]:80", "[::2]:80"));
        assert_eq!(connect_to("a:80:b:81"), pair("a:80", "b:81"));
        assert_eq!(connect_to("a:80:[::1]:81"), pair("a:80", "[::1]:81"));
        for bad in ["", "a", "a:80", "[::1]", "[", "a:80:b"] {
            assert!(resolve(bad).is_err(), "{bad}");
        }
        assert!(proxy_version("3").is_err() && proxy_version("x").is_err());
    }

    #[test]
    fn a_port_alone_is_of_this_machine() {
        assert_eq!(listen("9100"), Ok("127.0.0.1:9100".parse().unwrap()));
        assert_eq!(listen("[::]:1"), Ok("[::]:1".parse().unwrap()));
        assert!(listen("0").is_err() && listen("[::]:0").is_err());
        assert!(listen("x").is_err() && listen("99999").is_err() && listen("h:1").is_err());
    }

    #[test]
    fn profiles_have_rates_and_times() {
        let (to, s) = (500.0, 30.0);
        assert_eq!(profile("ramp:500:30s"), Ok(Profile::Ramp { to, s }));
        let at_s = 2.0;
        assert_eq!(
            profile("spike:500:2000ms:30s"),
            Ok(Profile::Spike { to, at_s, s })
        );
        assert!(matches!(
            profile("sine:5:1m"),
            Ok(Profile::Sine { period_s: 60.0, .. })
        ));
        let file = "a:b".into();
        assert_eq!(profile("file:a:b"), Ok(Profile::File { file }));
        for bad in [
            "",
            "ramp",
            "ramp:5",
            "ramp:x:5s",
            "spike:5:5s",
            "sine:5:x",
            "file:",
            "step:1:2",
        ] {
            assert!(profile(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn think_delays_have_distributions() {
        let uniform = Think::Uniform {
            min_s: 0.5,
            max_s: 2.0,
        };
        assert_eq!(think("1s"), Ok(Think::Fixed { s: 1.0 }));
        assert_eq!(think("uniform:500ms..2s"), Ok(uniform));
        assert_eq!(think("exp:1"), Ok(Think::Exponential { mean_s: 1.0 }));
        assert!(think("uniform:1s").is_err() && think("normal:1s").is_err());
    }
}
