//! The URL that is measured.

use std::path::PathBuf;

use http::Uri;
use http::uri::{Authority, PathAndQuery};
use rustix::net::SocketAddrUnix;

use crate::decimal::decimal;
use crate::resolve;
use crate::spec::redirect::{self, Redirects};
use crate::spec::{IpVersion, SpecError};
use crate::stream::endpoint::Address;

const EXPECTED: &str = "expected http://HOST[:PORT]/PATH, https://…, http://unix:/SOCKET:/PATH, \
                        ws://…, wss://…, tcp://HOST:PORT or unix:/SOCKET";

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP without encryption.
    Http,
    /// HTTP in TLS, or over QUIC.
    Https,
    /// A stream of bytes.
    Tcp,
}

impl Scheme {
    /// The scheme as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http://",
            Scheme::Https => "https://",
            Scheme::Tcp => "tcp:// or unix:",
        }
    }
}

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The scheme.
    pub scheme: Scheme,
    /// Host and port as they are written in the URL.
    pub authority: String,
    /// Path and query.
    pub path: String,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Host { host: String, port: u16 },
    Socket(PathBuf),
}

impl Target {
    /// The scheme as a request of HTTP/2 names it.
    pub fn http_scheme(&self) -> &'static str {
        match self.scheme {
            Scheme::Https => "https",
            Scheme::Http | Scheme::Tcp => "http",
        }
    }

    /// Parse `url`.
    ///
    /// # Errors
    /// A [`SpecError`] when it is not a supported URL.
    pub fn parse(url: &str) -> Result<Self, SpecError> {
        let error = |why: String| SpecError::new("url", format!("{url:?} {why}"), EXPECTED);
        if let Some(path) = url
            .strip_prefix("unix:")
            .filter(|path| path.starts_with('/'))
        {
            fits(path)?;
            return Ok(Target {
                scheme: Scheme::Tcp,
                authority: "localhost".into(),
                path: "/".into(),
                place: Place::Socket(path.into()),
            });
        }
        for (prefix, scheme) in [
            ("http://unix:", Scheme::Http),
            ("https://unix:", Scheme::Https),
        ] {
            if let Some(rest) = url.strip_prefix(prefix) {
                // As in nginx: the path of the socket ends where that of the object begins.
                let (socket, path) = rest.split_once(":/").unwrap_or((rest, ""));
                fits(socket)?;
                let path: Result<PathAndQuery, _> = format!("/{path}").parse();
                let path = path.map_err(|why| error(format!("has no path ({why})")))?;
                return Ok(Target {
                    scheme,
                    authority: "localhost".into(),
                    path: path.as_str().into(),
                    place: Place::Socket(socket.into()),
                });
            }
        }
        let uri: Uri = url
            .parse()
            .map_err(|why| error(format!("is not a URL ({why})")))?;
        let (scheme, default_port) = match uri.scheme_str() {
            Some("http" | "ws") => (Scheme::Http, Some(80)),
            Some("https" | "wss") => (Scheme::Https, Some(443)),
            Some("tcp") => (Scheme::Tcp, None),
            _ => return Err(error("has an unknown scheme".into())),
        };
        let authority = uri.authority().ok_or_else(|| error("has no host".into()))?;
        if authority.as_str().contains('@') {
            let found = format!("{url:?} has a user name, which would not be sent");
            let remedy = "write the URL without it, and --user NAME:PASSWORD";
            return Err(SpecError::new("url", found, remedy));
        }
        let port = port(url, authority)?.or(default_port);
        // An IPv6 literal resolves without its brackets.
        let host = authority.host().trim_matches(['[', ']']);
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        if scheme == Scheme::Tcp && !matches!(path, "" | "/") {
            return Err(error("has a path, which a stream of bytes has not".into()));
        }
        Ok(Target {
            scheme,
            authority: without_zone(authority.as_str()),
            // The path before a query may be left out in a URL, but not in a request.
            path: match path.starts_with('/') {
                true => path.into(),
                false => format!("/{path}"),
            },
            place: Place::Host {
                // As a URL writes the percent sign of a zone (RFC 6874).
                host: host.replacen("%25", "%", 1),
                port: port.ok_or_else(|| error("has no port".into()))?,
            },
        })
    }

    /// Return true if `other` is at the same host and port, or socket, with the same scheme.
    pub fn shares_origin(&self, other: &Target) -> bool {
        self.scheme == other.scheme && self.place == other.place
    }

    /// The same origin with another path, which may have a query.
    ///
    /// # Errors
    /// A [`SpecError`] when `path` is none.
    pub fn at(&self, path: &str) -> Result<Self, SpecError> {
        let path: PathAndQuery = path.parse().map_err(|why| {
            let found = format!("{path:?} is not a path ({why})");
            SpecError::new("mix", found, "write /PATH, with special characters as %XX")
        })?;
        Ok(Target {
            path: path.as_str().into(),
            ..self.clone()
        })
    }

    /// The host's name or address, without the port; that of a Unix socket is localhost.
    pub fn host(&self) -> &str {
        match &self.place {
            Place::Host { host, .. } => host,
            Place::Socket(_) => "localhost",
        }
    }

    /// Host and port as the URL names them; none of a Unix socket.
    pub fn named(&self) -> Option<(&str, u16)> {
        match &self.place {
            Place::Host { host, port } => Some((host, *port)),
            Place::Socket(_) => None,
        }
    }

    /// The server's host and port, or those that `redirects` have for them; or the socket's path.
    pub fn place(&self, redirects: &Redirects) -> String {
        match &self.place {
            Place::Socket(path) => path.display().to_string(),
            Place::Host { host, port } => {
                let named = (host.clone(), *port);
                let (host, port) = redirect::place(redirects, host, *port).unwrap_or(named);
                match host.contains(':') {
                    true => format!("[{host}]:{port}"),
                    false => format!("{host}:{port}"),
                }
            }
        }
    }

    /// The addresses that the host's name stands for, or that of the place which `redirects` have for
    /// it, in the order in which they are tried; or the socket's path.
    ///
    /// # Errors
    /// A [`SpecError`] when the name has no address of `version`.
    pub fn resolve(
        &self,
        version: Option<IpVersion>,
        redirects: &Redirects,
    ) -> Result<Vec<Address>, SpecError> {
        match &self.place {
            Place::Socket(path) => Ok(vec![Address::Unix(path.clone())]),
            Place::Host { host, port } => {
                let (host, port) = redirect::place(redirects, host, *port)?;
                let found = resolve::addresses(&host, port, version)?;
                Ok(found.into_iter().map(Address::Inet).collect())
            }
        }
    }
}

/// The authority without the zone of an IPv6 address, which no server is told.
fn without_zone(authority: &str) -> String {
    let zone = authority.find('%').zip(authority.find(']'));
    match zone {
        Some((begin, end)) if begin < end => {
            format!("{}{}", &authority[..begin], &authority[end..])
        }
        _ => authority.to_string(),
    }
}

/// Refuse a path of a Unix socket that the kernel does not take.
fn fits(socket: &str) -> Result<(), SpecError> {
    if !socket.is_empty() && SocketAddrUnix::new(socket).is_ok() {
        return Ok(());
    }
    let found = format!("{socket:?} is not the path of a Unix socket");
    let remedy = "write unix:/PATH, of at most 107 bytes";
    Err(SpecError::new("url", found, remedy))
}

/// The port that `authority` names, if any.
fn port(url: &str, authority: &Authority) -> Result<Option<u16>, SpecError> {
    let rest = &authority.as_str()[authority.host().len()..];
    let Some(digits) = rest.strip_prefix(':').filter(|digits| !digits.is_empty()) else {
        return Ok(None);
    };
    let port = decimal(digits.as_bytes()).and_then(|port| u16::try_from(port).ok());
    let port = port.filter(|port| *port > 0);
    port.map(Some).ok_or_else(|| {
        let found = format!("{url:?} has the port {digits:?}");
        SpecError::new("url", found, "write a port from 1 to 65535")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> (Scheme, String, String, Address) {
        let target = Target::parse(url).unwrap();
        let address = target.resolve(None, &Redirects::new()).unwrap().remove(0);
        (target.scheme, target.authority, target.path, address)
    }

    fn inet(text: &str) -> Address {
        Address::Inet(text.parse().unwrap())
    }

    #[test]
    fn takes_urls_apart() {
        let (scheme, authority, path, address) = parse("http://[::1]:8080/a/b?c=%20d");
        assert_eq!((scheme, authority.as_str()), (Scheme::Http, "[::1]:8080"));
        assert_eq!(
            (path.as_str(), address),
            ("/a/b?c=%20d", inet("[::1]:8080"))
        );
        let (_, _, path, address) = parse("http://127.0.0.1");
        assert_eq!((path.as_str(), address), ("/", inet("127.0.0.1:80")));
        let (scheme, _, _, address) = parse("https://127.0.0.1/o/{key}");
        assert_eq!((scheme, address), (Scheme::Https, inet("127.0.0.1:443")));
        let (scheme, _, _, address) = parse("tcp://[::1]:7");
        assert_eq!((scheme, address), (Scheme::Tcp, inet("[::1]:7")));
    }

    #[test]
    fn takes_unix_sockets() {
        let socket = |path: &str| Address::Unix(path.into());
        let (scheme, authority, path, address) = parse("http://unix:/run/a.sock:/b?c");
        assert_eq!((scheme, authority.as_str()), (Scheme::Http, "localhost"));
        assert_eq!((path.as_str(), address), ("/b?c", socket("/run/a.sock")));
        let (_, _, path, address) = parse("http://unix:/run/a.sock");
        assert_eq!((path.as_str(), address), ("/", socket("/run/a.sock")));
        let (scheme, _, _, address) = parse("unix:/run/a.sock");
        assert_eq!((scheme, address), (Scheme::Tcp, socket("/run/a.sock")));
    }

    #[test]
    fn a_zone_is_of_this_machine_alone() {
        for url in ["http://[fe80::1%25lo]:80/", "http://[fe80::1%lo]:80/"] {
            let target = Target::parse(url).unwrap();
            assert_eq!(
                (target.authority.as_str(), target.host()),
                ("[fe80::1]:80", "fe80::1%lo")
            );
        }
    }

    #[test]
    fn a_query_without_a_path_is_of_the_root() {
        assert_eq!(parse("http://127.0.0.1:1?q=/a").2, "/?q=/a");
    }

    #[test]
    fn a_port_that_is_none_is_named_with_its_remedy() {
        for port in ["99999", "65536", "0", "abc", "-1", "+1", "1x"] {
            for url in [format!("http://h:{port}/"), format!("tcp://[::1]:{port}")] {
                let error = Target::parse(&url).unwrap_err().to_string();
                assert_eq!(
                    error,
                    format!("url: {url:?} has the port {port:?}; write a port from 1 to 65535")
                );
            }
        }
        assert_eq!(parse("http://127.0.0.1:/").3, inet("127.0.0.1:80"));
    }

    #[test]
    fn says_what_is_wrong_with_a_url() {
        for url in [
            "",
            "127.0.0.1:80",
            "/path",
            "ftp://a/",
            "tcp://a",
            "http://a b/",
            "http://u@a/",
        ] {
            let error = Target::parse(url).unwrap_err().to_string();
            assert!(error.starts_with("url: "), "{error}");
        }
    }
}
